// docs/run-your-agent.md, followed in new projects.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { http, SnapshotterClient, type SnapshotterFailure } from '../../client/src/index.ts';
import type { Output } from '../../examples/shared/answers.ts';
import { claimFolder } from '../../scripts/claim.ts';
import { at } from '../../scripts/setup.mjs';
import { createProject, DEV, folder, run, startDev, startWrangler } from './projects.ts';
import { Command, freePorts } from './terminal.ts';

const PAGE = readFileSync(at('docs/run-your-agent.md'), 'utf8');

/** Returns the code blocks of a language in a section of the page. */
function blocks(section: string, language: string): string[] {
  const [, text = ''] = PAGE.split(`## ${section}\n`);
  const [own = ''] = text.split('\n## ');
  return [...own.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );
}

const ALONE = 'With named workspaces only';
const CONTAINER = 'In the runtime `container`';
const OURS = 'In `sdk-0.12`, if the snapshotter exports `Sandbox`';
const YOURS = 'In `sdk-0.12`, if your Worker exports `Sandbox`';

async function callAgent(address: string, command: string): Promise<{ how: string; stdout: string }> {
  const response = await fetch(address, { method: 'POST', body: command });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

test('an agent with the service binding alone works in a named workspace of `npm run dev`', async () => {
  const [config = ''] = blocks(ALONE, 'toml');
  const [source = ''] = blocks(ALONE, 'ts');
  const failing = `if (request.method === 'PUT')
      return Response.json(await snapshotter.workspaces.start({ name: 'missing' }).catch((error) => error));
    const notebook`;
  const project = createProject('alone', {
    // The registry passes on no signals.
    'wrangler.toml': config.replace(
      '[[services]]',
      'compatibility_flags = ["enable_abortsignal_rpc"]\n\n[[services]]',
    ),
    'src/index.ts': source
      .replace('const notebook', failing)
      .replace('request.text())', 'request.text(), { signal: AbortSignal.timeout(600_000) })'),
  });
  await using dev = startDev(await freePorts(), 'alone');
  await dev.prints(/alone, of the runtime container\n[^]*Press Ctrl-C to stop/);
  await using wrangler = startWrangler(project);
  const [, address = ''] = await wrangler.prints(/Ready on (http:\S+)/);
  assert.match(wrangler.output, /env\.SNAPSHOTTER .*\[connected\]/);

  const answer = await callAgent(address, 'echo hello >> notes.txt; cat notes.txt');
  assert.deepEqual([answer.how, answer.stdout], ['empty', 'hello\n']);
  const response = await fetch(address, { method: 'PUT' });
  const { code, kind, message, remediation } = (await response.json()) as SnapshotterFailure;
  assert.deepEqual([code, kind], ['WORKSPACE_NOT_FOUND', 'not_found']);
  assert.match(message, /"missing"\.$/);
  assert.match(remediation, /^Create it .+\.$/);
  assert.equal(await dev.interrupt(), 0);
  assert.match(dev.output, /Saved notebook\./);
});

test('an agent with the service binding alone runs by `npm run dev -- --agent`, in the runtime of new deployments', async () => {
  const [config = ''] = blocks(ALONE, 'toml');
  const [source = ''] = blocks(ALONE, 'ts');
  const project = createProject('alone-inside', { 'wrangler.toml': config, 'src/index.ts': source });
  for (const [how, notes] of [
    ['empty', 'hello\n'],
    ['restored', 'hello\nhello\n'],
  ] as const) {
    await using dev = startDev(await freePorts(), 'alone-inside', ['--agent', project]);
    const [, address = ''] = await dev.prints(/my-agent: +(http:\S+)/);
    await dev.prints(/alone-inside, of the runtime container\n[^]*Press Ctrl-C to stop/);
    assert.match(
      dev.output,
      /^my-agent has no \[\[containers\]\], .+ runtime container\. .+: --runtime sdk-0\.12$/m,
    );
    const answer = await callAgent(address, 'echo hello >> notes.txt; cat notes.txt');
    assert.deepEqual([answer.how, answer.stdout], [how, notes]);
    assert.equal(await dev.interrupt(), 0);
    assert.match(dev.output, /Saved notebook\./);
  }
});

test('an agent that binds the class of SDK 0.12 runs by `npm run dev -- --agent` in this runtime', async () => {
  const [config = ''] = blocks(OURS, 'toml');
  const [source = ''] = blocks(OURS, 'ts');
  const project = createProject('bound-inside', { 'wrangler.toml': config, 'src/index.ts': source });
  await using dev = startDev(await freePorts(), 'bound-inside', ['--agent', project]);
  const [, address = ''] = await dev.prints(/my-agent: +(http:\S+)/);
  await dev.prints(/bound-inside, of the runtime sdk-0\.12\n[^]*Press Ctrl-C to stop/);
  assert.equal((await callAgent(address, 'echo hello')).stdout, 'hello');
  assert.equal(await dev.interrupt(), 0);
});

test('an agent reaches the run after one that was killed', async () => {
  const [config = ''] = blocks(ALONE, 'toml');
  const [source = ''] = blocks(ALONE, 'ts');
  const project = createProject('after-kill', { 'wrangler.toml': config, 'src/index.ts': source });
  {
    await using killed = startDev(await freePorts(), 'killed');
    await killed.prints(/Press Ctrl-C to stop/);
  }
  await using dev = startDev(await freePorts(), 'after-kill');
  await dev.prints(/Press Ctrl-C to stop/);
  await using wrangler = startWrangler(project);
  const [, address = ''] = await wrangler.prints(/Ready on (http:\S+)/);
  assert.equal((await callAgent(address, 'echo hello')).stdout, 'hello\n');
  assert.equal(await dev.interrupt(), 0);
});

describe('an agent that binds the class of the snapshotter', () => {
  test('connects to `npm run dev` by a plain `wrangler dev`, and its workspace outlives both', async () => {
    const [config = ''] = blocks(OURS, 'toml');
    const [source = ''] = blocks(OURS, 'ts');
    const project = createProject('my-agent', { 'wrangler.toml': config, 'src/index.ts': source });

    const port = await freePorts();
    await using dev = startDev(port, 'first', ['--runtime', 'sdk-0.12']);
    await dev.prints(/Press Ctrl-C to stop/);
    await using wrangler = startWrangler(project);
    const [, address = ''] = await wrangler.prints(/Ready on (http:\S+)/);
    assert.match(wrangler.output, /env\.SNAPSHOTTER .*\[connected\]/);
    assert.match(wrangler.output, /env\.Sandbox .*\[connected\]/);

    const first = await callAgent(address, 'echo hello >> notes.txt; cat notes.txt');
    assert.equal(first.stdout, 'hello');

    assert.equal(await dev.interrupt(), 0);
    assert.match(dev.output, /Saved notebook\./);

    await using again = startDev(port, 'first', ['--runtime', 'sdk-0.12']);
    await again.prints(/Press Ctrl-C to stop/);
    const second = await callAgent(address, 'echo again >> notes.txt; cat notes.txt');
    assert.deepEqual([second.how, second.stdout], ['restored', 'hello\nagain']);
  });
});

test('an agent of the runtime `container` runs by `npm run dev -- --agent`, and its workspace outlives it', async () => {
  const [config = ''] = blocks(CONTAINER, 'toml');
  const [source = ''] = blocks(CONTAINER, 'ts');
  const [Dockerfile = ''] = blocks(CONTAINER, 'dockerfile');
  const files = { 'wrangler.toml': config, 'src/index.ts': source, Dockerfile };
  const project = createProject('own-container', files);

  for (const [how, notes] of [
    ['empty', 'hello'],
    ['restored', 'hello\nhello'],
  ] as const) {
    const port = await freePorts();
    await using dev = startDev(port, 'container', ['--agent', project]);
    const [, address = ''] = await dev.prints(/my-agent: +(http:\S+)/);
    const [, token = ''] = await dev.prints(/Token: +(\S+)/);
    await dev.prints(/Press Ctrl-C to stop/);
    const answer = await callAgent(address, 'echo hello >> notes.txt; cat notes.txt');
    assert.deepEqual([answer.how, answer.stdout.trim()], [how, notes]);
    const { workspaces } = new SnapshotterClient(http({ url: `http://127.0.0.1:${port}`, token }));
    const { runtime } = await workspaces.getByName({ name: 'notebook' });
    assert.equal(runtime, 'container');
    assert.equal(await dev.interrupt(), 0);
    assert.match(dev.output, /Saved notebook\./);
  }
});

describe('an agent that exports the class itself', () => {
  test('runs by `npm run dev -- --agent` with its bindings and secrets', async () => {
    const [config = ''] = blocks(YOURS, 'toml');
    const [source = ''] = blocks(OURS, 'ts');
    const [line = ''] = blocks(YOURS, 'ts');
    const more = '\n[[kv_namespaces]]\nbinding = "KV"\nid = "1"\n\n[ai]\nbinding = "AI"\n';
    const project = createProject('own-class', {
      'wrangler.toml': config + more,
      'src/index.ts': `${line}${source.replace('const command =', 'await (env as any).KV.put("secret", (env as any).SECRET);\n    const command = await (env as any).KV.get("secret") +')}`,
      '.dev.vars': 'SECRET="echo "',
      Dockerfile: 'FROM docker.io/cloudflare/sandbox:0.12.10\n',
    });

    const port = await freePorts();
    await using dev = startDev(port, 'second', ['--agent', join(project, 'wrangler.toml')]);
    const [, address = ''] = await dev.prints(/my-agent: +(http:\S+)/);
    assert.match(dev.output, /left out: ai\./);
    const { stdout } = await callAgent(address, 'from KV > notes.txt; cat notes.txt');
    assert.equal(stdout, 'from KV');
    assert.equal(await dev.interrupt(), 0);
    assert.match(dev.output, /Saved notebook\./);
  });

  test('has the state of its runtime, which follows from its image or is named', async () => {
    const [config = ''] = blocks(YOURS, 'toml');
    const [ownState, sdkState] = [at('.local/state-container'), at('.local/state')];
    // Holds both, so that no run of this test begins.
    for (const state of [ownState, sdkState]) await claimFolder(state, 'a test');
    const create = (name: string, image: string) =>
      createProject(name, { 'wrangler.toml': config.replace('./Dockerfile', image) });
    const sdk = create('of-sdk-image', 'docker.io/cloudflare/sandbox:0.12.10');
    const other = create('of-other-image', 'docker.io/library/debian:12-slim');
    for (const [project, args, state] of [
      [sdk, [], sdkState],
      [sdk, ['--runtime', 'container'], ownState],
      [other, [], ownState],
      [other, ['--runtime', 'sdk-0.12'], sdkState],
    ] as const) {
      await using dev = new Command([...DEV, '--agent', project, ...args], {
        cwd: at(),
        env: { PORT: String(await freePorts()) },
      });
      assert.equal(await dev.ended(), 1);
      assert.ok(dev.output.includes(`Another \`npm run dev\` uses the state in ${state}. `), dev.output);
      const assumed = /^The runtime of the class Sandbox is (\S+), according to its image\./m.exec(
        dev.output,
      );
      assert.equal(assumed?.[1], args.length > 0 ? undefined : state === sdkState ? 'sdk-0.12' : 'container');
    }
  });

  test('is named where the folder has no configuration, or one that is invalid', async () => {
    for (const [name, files, message] of [
      ['empty', {}, /^There is no wrangler\.toml in \S+empty\. Pass that of your Worker: --agent <path>\n$/],
      ['nameless', { 'wrangler.jsonc': '{}' }, /^\S+nameless\/wrangler\.jsonc has no name\.\n$/],
    ] as const) {
      const project = createProject(name, { ...files });
      await using dev = startDev(await freePorts(), 'third', ['--agent', project]);
      assert.equal(await dev.ended(), 1);
      assert.match(dev.output, message);
    }
  });

  test('is named where its wrangler.toml does not exist', async () => {
    await using dev = startDev(await freePorts(), 'third', ['--agent', 'missing.toml']);
    assert.equal(await dev.ended(), 1);
    assert.match(
      dev.output,
      /^There is no \S+missing\.toml\. Pass the wrangler\.toml of your Worker: --agent <path>\n$/,
    );
  });
});

test('the example agent of the runtime `container` works in a workspace, which the end of the command saves', async () => {
  const port = await freePorts();
  await using dev = startDev(port, 'example', ['--runtime', 'container']);
  const [, address = ''] = await dev.prints(/Example agent: +(http:\S+)/);
  const [, token] = await dev.prints(/Token of both: +(\S+)/);
  await dev.prints(/the class Sandbox of\n"container-agent"[^]*Press Ctrl-C to stop/);
  const response = await fetch(`${address}/ada/runInWorkspace`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(['notebook', 'echo hello >notes.txt; cat notes.txt']),
  });
  const { stdout } = (await response.json()) as Output;
  assert.equal(stdout, 'hello\n');
  const { workspaces } = new SnapshotterClient(http({ url: `http://127.0.0.1:${port}`, token: token ?? '' }));
  const { runtime } = await workspaces.getByName({ name: 'notebook' });
  assert.equal(runtime, 'container', 'lists show the runtime');
  const [variables] = await dev.prints(/export SNAPSHOTTER_ADDRESS=.+\n.*export SNAPSHOTTER_TOKEN=.+/);
  const script = `${variables}\necho "$SNAPSHOTTER_ADDRESS $SNAPSHOTTER_TOKEN"`;
  assert.equal(run('sh', ['-c', script], folder), `http://127.0.0.1:${port} ${token}\n`);
  const [curl] = await dev.prints(/curl http.+/);
  assert.match(run('sh', ['-c', curl], folder), /"stdout":"hello\\n"/);
  assert.equal(await dev.interrupt(), 0);
  assert.match(dev.output, /Saved notebook\./);
});

test('a binding that an application lacks is named at the start', async () => {
  const [config = ''] = blocks(CONTAINER, 'toml');
  const [source = ''] = blocks(CONTAINER, 'ts');
  const [Dockerfile = ''] = blocks(CONTAINER, 'dockerfile');
  const without = (pattern: RegExp) => config.replace(pattern, '');
  for (const [index, [toml, missing]] of [
    [without(/\[\[services\]\][^[]*/), '[[services]] with service = "sandbox-snapshotter"'],
    [
      config.replace('"sandbox-snapshotter"', '"snapshotter"'),
      '[[services]] with service = "sandbox-snapshotter"',
    ],
    [without(/\[\[containers\]\][^[]*/), '[[containers]] for its class Sandbox'],
    [without(/\[\[r2_buckets\]\][^[]*/), 'R2 binding BACKUP_BUCKET'],
  ].entries()) {
    const files = { 'wrangler.toml': toml ?? '', 'src/index.ts': source, Dockerfile };
    const project = createProject(`lacking-${index}`, files);
    await using dev = startDev(await freePorts(), `lacking-${index}`, ['--agent', project]);
    await dev.prints(/Press Ctrl-C to stop/);
    assert.ok(dev.output.includes(`${join(project, 'wrangler.toml')} has no ${missing}: `), dev.output);
    assert.equal(await dev.interrupt(), 0);
  }
});

test('a package that an application lacks is named without a stack trace', async () => {
  const [config = ''] = blocks(CONTAINER, 'toml');
  const [source = ''] = blocks(CONTAINER, 'ts');
  const project = join(folder, 'not-installed');
  mkdirSync(join(project, 'src'), { recursive: true });
  writeFileSync(join(project, 'wrangler.toml'), config);
  writeFileSync(join(project, 'src/index.ts'), source);
  writeFileSync(join(project, 'Dockerfile'), '');
  await using dev = startDev(await freePorts(), 'lacking', ['--agent', join(project, 'wrangler.toml')]);
  assert.equal(await dev.ended(), 1);
  assert.match(dev.output, /Could not resolve "sandbox-snapshotter-client"/);
  assert.match(dev.output, /\nmy-agent cannot be bundled\. .+client\/README\.md says\.\n$/);
  assert.doesNotMatch(dev.output, /^ +at /m);
});

test('an invalid wrangler.toml is reported without a stack trace', async () => {
  const project = createProject('invalid', { 'wrangler.toml': 'name = "my-agent"\nmain = 1\n' });
  await using dev = startDev(await freePorts(), 'invalid', ['--agent', join(project, 'wrangler.toml')]);
  assert.equal(await dev.ended(), 1);
  assert.match(dev.output, /"main"/);
  assert.doesNotMatch(dev.output, /^ +at /m);
});
