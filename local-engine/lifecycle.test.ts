/** How containers begin and end, and what they cannot see. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { checkHost, startEngine } from './index.ts';
import { startWorld, type TestWorld } from './testing.ts';

let world: TestWorld;
const stateDir = mkdtempSync(join(tmpdir(), 'state-'));
before(async () => {
  world = await startWorld({ stateDir });
});
after(async () => {
  await world[Symbol.asyncDispose]();
  assert.deepEqual(readdirSync(stateDir), []);
  rmSync(stateDir, { recursive: true });
});

/** Whether a process of this machine has the text in its command line. */
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

test('this machine has all that is needed', () => assert.deepEqual(checkHost(), []));

test('a sandbox sees neither other sandboxes nor the host', async () => {
  const secret = join(tmpdir(), `secret-${process.pid}`);
  writeFileSync(secret, '');
  const [one, two] = [world.sandbox('one'), world.sandbox('two')];
  await Promise.all([one.call('exec', 'echo 1 >/workspace/f; echo 1 >/tmp/f'), two.call('exec', 'true')]);
  const hidden = [
    secret,
    stateDir,
    import.meta.dirname,
    world.engine.address.slice('unix://'.length),
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
  test(`${end} ends the whole process tree, and nothing is left of the files`, async () => {
    const box = world.sandbox(`ends-by-${end}`);
    const id = await box.id();
    const mark = `sleep 98${Math.trunc(performance.now())}`;
    await box.call('exec', `touch /workspace/f; setsid ${mark} </dev/null >/dev/null 2>&1 & true`);
    const placement = await box.call('getContainerPlacementId');
    await until(() => runs(mark.replace(' ', '\0')));
    assert.ok(world.engine.running().includes(id));

    if (end === 'kill') await world.engine.kill(id);
    else await box.call(end);
    if (end !== 'kill') await until(() => !world.engine.running().includes(id));
    assert.ok(!runs(mark.replace(' ', '\0')));

    // Until the class has noticed the end, which may take it a second, its next call fails.
    await until(async () => (await box.call('getState')).status === 'stopped');
    assert.equal((await box.call('exec', 'ls -A /workspace')).stdout, '');
    assert.notEqual(await box.call('getContainerPlacementId'), placement);
  });
}

test('sandboxes end with the process of the engine', async () => {
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

test('an engine removes its folder, and a path that is too long is refused', async () => {
  const engine = await startEngine({ stateDir });
  const socket = engine.address.slice('unix://'.length);
  assert.ok(existsSync(socket));
  await engine.close();
  assert.ok(!existsSync(socket));
  await assert.rejects(startEngine({ stateDir: join(stateDir, 'x'.repeat(100)) }), /shorter stateDir/);
  rmSync(join(stateDir, 'x'.repeat(100)), { recursive: true });
});
