// The official conformance suite of the Model Context Protocol, for two revisions. Many of its checks cover features that a
// server of tools alone does not have, or need special tools. conformance.json lists the checks that must fail, with the
// reason, and the checks that must pass.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { environment } from '../../scripts/setup.mjs';
import { TOKEN, World } from '../world.ts';

/** The checks of each scenario. */
type Checks = Record<string, string[]>;

/** The expected results of a revision: the checks that must pass, and the checks that must fail, by reason. */
interface Expected {
  passes: Checks;
  fails: Record<string, Checks>;
}

interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
}

const list = await readFile(new URL('./conformance.json', import.meta.url), 'utf8');
const revisions = Object.entries(JSON.parse(list) as Record<string, Expected>);

for (const [revision, { passes, fails }] of revisions) {
  const scenarios = await run(revision);
  const failing = (scenario: string) => Object.values(fails).flatMap((checks) => checks[scenario] ?? []);

  describe(`the conformance suite of ${revision}`, () => {
    for (const [scenario, checks] of scenarios) {
      const ids = (...statuses: string[]) => [
        ...new Set(checks.filter(({ status }) => statuses.includes(status)).map(({ id }) => id)),
      ];
      test(scenario, () => {
        assert.deepEqual(ids('FAILURE', 'WARNING').sort(), failing(scenario).sort());
        assert.deepEqual(missingFrom(passes[scenario] ?? [], ids('SUCCESS')), []);
      });
    }

    test('contains every expected scenario', () => {
      const expected = [passes, ...Object.values(fails)].flatMap((checks) => Object.keys(checks));
      assert.deepEqual(missingFrom(expected, [...scenarios.keys()]), []);
    });
  });
}

/** Returns those of `expected` that are not in `actual`. */
function missingFrom(expected: string[], actual: string[]): string[] {
  return expected.filter((each) => !actual.includes(each));
}

/** Runs the scenarios of a revision, and returns the checks of each. */
async function run(revision: string): Promise<Map<string, Check[]>> {
  await using world = await World.start({ snapshotter: { port: 0 } });
  const proxy = authorizingProxy(await world.url('/mcp?sandbox=conformance'));
  const folder = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
  try {
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
    const args = ['server', '--url', url, '--requirements', revision, '--output-dir', folder];
    // The exit status is a failure if any check fails, so only the results are read.
    await once(spawn('conformance', args, { env: environment(), stdio: 'ignore' }), 'close');
    const results = (await readdir(folder)).map(async (name): Promise<[string, Check[]]> => {
      const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1];
      assert.ok(scenario, name);
      return [scenario, JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8'))];
    });
    return new Map(await Promise.all(results));
  } finally {
    proxy.close();
    await rm(folder, { recursive: true });
  }
}

/** Makes a proxy that adds the token, which the suite cannot send. */
function authorizingProxy(target: URL) {
  return createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${TOKEN}` };
    const forwarded = request(target, { method: incoming.method ?? 'GET', headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
}
