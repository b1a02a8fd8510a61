// The packed command line, installed in a new project.

import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { Project, ROOT } from '../../client/test/projects.ts';
import { inTarget } from '../../scripts/setup.mjs';

/** The program that the tests run, in place of the optimized one of `npm run pack`. */
const PROGRAM = inTarget('debug/snapshotter');

test('the packed command line can be installed and run', async () => {
  await using project = await Project.create(tmpdir(), { 'package.json': { private: true } });
  const script = `import(${JSON.stringify(join(ROOT, 'scripts/pack.mjs'))}).then(({ packProgram }) =>
    packProgram(${JSON.stringify(PROGRAM)}, ['--silent', '--pack-destination', ${JSON.stringify(project.path)}]))`;
  const packed = await project.run(process.execPath, ['-e', script]);
  assert.equal(packed.status, 0, packed.output);

  const options = ['--offline', '--no-audit', '--no-fund'];
  const archive = './sandbox-snapshotter-cli-0.1.0.tgz';
  const installed = await project.run('npm', ['install', ...options, archive]);
  assert.equal(installed.status, 0, installed.output);
  const { output } = await project.run('node_modules/.bin/snapshotter', ['--version']);
  assert.equal(output, 'snapshotter 0.1.0\n');
});
