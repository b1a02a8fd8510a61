/** The start and the end of containers, and their isolation. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { checkHost, startEngine } from './index.ts';
import { startFixture, type TestFixture } from './testing.ts';

let fixture: TestFixture;
const stateDir = mkdtempSync(join(tmpdir(), 'state-'));
before(async () => {
  fixture = await startFixture({ stateDir });
});
after(async () => {
  await fixture[Symbol.asyncDispose]();
  assert.deepEqual(readdirSync(stateDir), []);
  rmSync(stateDir, { recursive: true });
});

/** Returns whether the command line of a process of this machine contains the text. */
const runs = (text: string): boolean =>
  readdirSync('/proc').some((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
    } catch {
      return false;
    }
  });

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(5);
}

test('checkHost finds all requirements on this machine', () => assert.deepEqual(checkHost(), []));

test('a sandbox has no access to other sandboxes or to the files of the host', async () => {
  const secret = join(tmpdir(), `secret-${process.pid}`);
  writeFileSync(secret, '');
  const [one, two] = [fixture.sandbox('one'), fixture.sandbox('two')];
  await Promise.all([one.call('exec', 'echo 1 >/workspace/f; echo 1 >/tmp/f'), two.call('exec', 'true')]);
  const hidden = [
    secret,
    stateDir,
    import.meta.dirname,
    fixture.engine.address.slice('unix://'.length),
    '/tmp/f',
  ];
  for (const path of [...hidden, process.env['HOME'] ?? '/root']) {
    const { stdout } = await two.call('exec', `[ -e "${path}" ] && ls -A "${path}"`);
    assert.equal(stdout, '', path);
  }
  rmSync(secret);
  for (const dir of ['/workspace', '/home', '/root', '/tmp', '/var/tmp', '/app', '/var/backups']) {
    assert.equal((await two.call('exec', `ls -A ${dir} && touch ${dir}/mine`)).stderr, '', dir);
  }
  for (const change of ['touch /usr/x', 'touch /etc/x', 'chmod 777 /opt/local-engine/node']) {
    assert.match((await two.call('exec', change)).stderr, /Read-only|Permission denied/);
  }
  assert.match(
    (await two.call('exec', 'cat /proc/1/cmdline; echo $HOME; ls /dev/null')).stdout,
    /^bash.*\/root\n\/dev\/null/s,
  );
});

for (const end of ['destroy', 'stop', 'kill'] as const) {
  test(`${end} ends the whole process tree and removes the files`, async () => {
    const box = fixture.sandbox(`ends-by-${end}`);
    const id = await box.id();
    const commandLine = `sleep 98${Math.trunc(performance.now())}`;
    await box.call('exec', `touch /workspace/f; setsid ${commandLine} </dev/null >/dev/null 2>&1 & true`);
    const placement = await box.call('getContainerPlacementId');
    await until(() => runs(commandLine.replace(' ', '\0')));
    assert.ok(fixture.engine.running().includes(id));

    if (end === 'kill') await fixture.engine.kill(id);
    else await box.call(end);
    if (end !== 'kill') await until(() => !fixture.engine.running().includes(id));
    assert.ok(!runs(commandLine.replace(' ', '\0')));

    // The class may need a second to notice the end. Calls before that fail.
    await until(async () => (await box.call('getState')).status === 'stopped');
    assert.equal((await box.call('exec', 'ls -A /workspace')).stdout, '');
    assert.notEqual(await box.call('getContainerPlacementId'), placement);
  });
}

test('sandboxes end when the process of the engine is killed', async () => {
  const script = `
    import { request } from 'node:http';
    import { startEngine } from ${JSON.stringify(join(import.meta.dirname, 'index.ts'))};
    const engine = await startEngine({ stateDir: ${JSON.stringify(stateDir)} });
    const post = (path) => new Promise((resolve) => {
      request({ socketPath: engine.address.slice(7), method: 'POST', path }, (answer) => answer.resume().on('end', resolve)).end();
    });
    await post('/containers/create?name=orphan');
    await post('/containers/orphan/start');
    console.log(engine.address);
  `;
  const engine = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [address] = (await once(engine.stdout.setEncoding('utf8'), 'data')) as [string];
  const folder = address.trim().slice('unix://'.length, -'/docker.sock'.length);
  assert.ok(runs(folder));
  engine.kill('SIGKILL');
  await once(engine, 'exit');
  await until(() => !runs(folder));
  rmSync(folder, { recursive: true });
});

test('an engine removes its folder at its end, and refuses a path that is too long', async () => {
  const engine = await startEngine({ stateDir });
  const socket = engine.address.slice('unix://'.length);
  assert.ok(existsSync(socket));
  await engine.close();
  assert.ok(!existsSync(socket));
  await assert.rejects(startEngine({ stateDir: join(stateDir, 'x'.repeat(100)) }), /shorter stateDir/);
  rmSync(join(stateDir, 'x'.repeat(100)), { recursive: true });
});
