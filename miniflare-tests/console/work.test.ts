// Tests of the files of a running workspace, and of the commands run there.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';

import { until } from '../world.ts';
import { OVERFLOW, violations } from './accessibility.ts';
import { ConsoleFixture, type Tab } from './browser.ts';
import { delayCalls } from './calls.ts';

const NAME = 'desk';
const PAGE = `#/workspaces/default/${NAME}`;
const FILES = `${PAGE}/files`;

const fixture = new ConsoleFixture({}, async (world) => {
  const desk = world.workspace(NAME);
  await desk.create();
  await desk.exec(
    `mkdir src; printf 'one\\n' > src/main.txt; printf '\\377\\376' > binary; printf 'a\\r\\n' > dos.txt`,
  );
});

/** Runs a command, and returns what is shown of it when it has ended. */
async function run(tab: Tab, command: string): Promise<string> {
  await tab.field('Command').fill(command);
  await tab.button('Run').click();
  const shown = tab.page.getByRole('listitem').filter({ hasText: command }).first();
  await shown.getByText(/^(exit \d+|timed out|cancelled)$/).waitFor();
  return shown.innerText();
}

const content = (tab: Tab) => tab.page.getByLabel('Content', { exact: true });

describe('the files of a workspace', () => {
  test('are opened from its page, edited and saved', async () => {
    await using tab = await fixture.signedIn(PAGE);
    await tab.link('Files and commands').click();
    await tab.link('src/').click();
    await tab.link('main.txt').click();
    await content(tab).fill('one\ntwo\n');
    await tab.button('Save').click();
    await tab.notice('src/main.txt is written. The next snapshot has it.');
    assert.equal(await fixture.world.workspace(NAME).exec('cat src/main.txt'), 'one\ntwo\n');
    assert.equal(await tab.button('Discard changes').count(), 0);
  });

  test('are not saved over a change of another program', async () => {
    await using tab = await fixture.signedIn(`${FILES}?path=src%2Fmain.txt`);
    await content(tab).fill('mine\n');
    await fixture.world.workspace(NAME).exec('echo theirs > src/main.txt');
    await tab.button('Save').click();
    assert.match(await tab.failure('FILE_CHANGED'), /Copy your text, discard your changes/);
    await tab.button('Discard changes').click();
    await until(async () => (await content(tab).inputValue()) === 'theirs\n');
  });

  test('keep a text that is not saved while another page is open', async () => {
    await using tab = await fixture.signedIn(`${FILES}?path=src%2Fmain.txt`);
    await content(tab).fill('unsaved\n');
    await tab.visit(FILES);
    await tab.link('src/').waitFor();
    await tab.page.goBack();
    await tab.page.getByText('This is your text from before, which is not saved.').waitFor();
    assert.equal(await content(tab).inputValue(), 'unsaved\n');
    const asked = new Promise<string>((resolve) =>
      tab.page.once('dialog', (dialog) => void dialog.dismiss().then(() => resolve(dialog.type()))),
    );
    await tab.page.evaluate('setTimeout(() => location.reload())');
    assert.equal(await asked, 'beforeunload');
    await tab.button('Discard changes').click();
    await tab.visit(FILES);
    await tab.page.goBack();
    await until(async () => (await content(tab).inputValue()) !== 'unsaved\n');
  });

  test('that are not text, or have other line breaks, are not edited', async () => {
    await using tab = await fixture.signedIn(`${FILES}?path=binary`);
    await tab.page.getByText('The content is not text').waitFor();
    await tab.visit(`${FILES}?path=dos.txt`);
    await content(tab).waitFor();
    assert.equal(await tab.page.locator('textarea').count(), 0);
  });

  test('are downloaded, uploaded and created, and none is replaced unless the user selects it', async () => {
    await using tab = await fixture.signedIn(`${FILES}?path=binary`);
    const [download] = await Promise.all([tab.page.waitForEvent('download'), tab.button('Download').click()]);
    assert.deepEqual([...(await readFile(await download.path()))], [0xff, 0xfe]);

    await tab.visit(FILES);
    await tab.page.getByText('Add a file').click();
    const file = {
      name: 'data.bin',
      mimeType: 'application/octet-stream',
      buffer: Buffer.from([0, 255, 10]),
    };
    await tab.field('File on this machine').setInputFiles(file);
    await tab.button('Upload').click();
    await tab.notice('data.bin is written: 3 B.');
    await tab.link('data.bin').waitFor();
    assert.equal(await fixture.world.workspace(NAME).exec('od -An -tx1 data.bin'), ' 00 ff 0a\n');

    await tab.field('Name of a new file').fill('data.bin');
    await tab.button('Create').click();
    await tab.failure('FILE_EXISTS');
    await tab.field('Replace a file that exists').check();
    await tab.button('Create').click();
    await tab.notice('data.bin is written: 0 B.');
  });

  test('that do not exist are reported with the name of the workspace', async () => {
    await using tab = await fixture.signedIn(`${FILES}?path=missing.txt`);
    assert.match(await tab.failure('FILE_NOT_FOUND'), /of the workspace "desk" contains no "missing.txt"/);
  });

  test('of a stopped workspace are shown after it is started, and not before', async () => {
    const world = fixture.world;
    await world.rpc('workspaces/create', { name: 'stopped' });
    await world.rpc('workspaces/stop', { name: 'stopped' });
    await using tab = await fixture.signedIn('#/workspaces/default/stopped/files');
    await tab.page.getByText('The workspace is stopped. Start it').waitFor();
    assert.equal(tab.requests.filter((url) => url.includes('/v1/files/')).length, 0);
    await tab.button('Start').click();
    await tab.page.getByText('The directory is empty.').waitFor();
  });
});

describe('the field for a command', () => {
  test('runs commands, shows their outputs and exit codes, and lists the files that they write', async () => {
    await using tab = await fixture.signedIn(FILES);
    assert.match(
      await run(tab, 'echo out; echo err >&2; echo x > made.txt; exit 3'),
      /exit 3[^]*(out\nerr|err\nout)/,
    );
    assert.equal(await tab.page.getByTitle('standard error').first().innerText(), 'err\n');
    await tab.link('made.txt').waitFor();
    await tab.field('Command').press('ArrowUp');
    assert.match(await tab.field('Command').inputValue(), /exit 3$/);
  });

  test('shows the output while a command runs, and cancels it', async () => {
    await using tab = await fixture.signedIn(FILES);
    await tab.field('Command').fill('echo begun; sleep 300; echo ended');
    await tab.button('Run').click();
    await tab.page.getByRole('log').getByText('begun').waitFor();
    await tab.button('Cancel').click();
    await tab.page.getByText('cancelled', { exact: true }).waitFor();
    assert.equal(await tab.page.getByText('ended', { exact: true }).count(), 0);
  });

  test('says what to do after a command whose container ended', async () => {
    const lone = fixture.world.workspace('lone');
    await lone.create();
    await using tab = await fixture.signedIn('#/workspaces/default/lone/files');
    await tab.field('Command').fill('echo begun; sleep 300');
    await tab.button('Run').click();
    await tab.page.getByRole('log').getByText('begun').waitFor();
    await lone.endContainer();
    const shown = await tab.failure('OPERATION_INTERRUPTED');
    assert.match(shown, /If a second run of the command does no harm, press Run again/);
    assert.doesNotMatch(shown, /revive|`/);
    assert.equal(await tab.field('Command').inputValue(), 'echo begun; sleep 300', 'Run runs it again');
  });

  test('shows that the container ended before it reads the files, which starts the workspace again', async () => {
    const ending = fixture.world.workspace('ending');
    await ending.create();
    await ending.exec('echo saved > saved.txt');
    await ending.stop();
    await ending.start();
    await ending.exec('echo draft > draft.txt');
    await using tab = await fixture.signedIn('#/workspaces/default/ending/files');
    await tab.link('draft.txt').waitFor();
    await tab.field('Command').fill('echo begun; sleep 300');
    await tab.button('Run').click();
    await tab.page.getByRole('log').getByText('begun').waitFor();
    const proceed = await delayCalls(tab, 'files/stat');
    await ending.endContainer();
    assert.match(await tab.failure('OPERATION_INTERRUPTED'), /workspace "ending"/);
    await tab.page.getByText('container ended', { exact: true }).waitFor();
    await tab.page.getByText('Reading…').waitFor();
    assert.equal(await tab.link('draft.txt').count(), 0);
    proceed();
    await tab.page.getByText('The last start restored snap-').waitFor();
    await tab.link('saved.txt').waitFor();
    await tab.failure('OPERATION_INTERRUPTED');
  });

  test('shows why the workspace cannot be started again after its container ended', async () => {
    const unsaved = fixture.world.workspace('unsaved');
    await unsaved.create();
    await unsaved.exec('echo unsaved > file');
    await using tab = await fixture.signedIn('#/workspaces/default/unsaved/files');
    await tab.field('Command').fill('echo begun; sleep 300');
    await tab.button('Run').click();
    await tab.page.getByRole('log').getByText('begun').waitFor();
    await unsaved.endContainer();
    await tab.page.getByText('The last start failed. Start it').waitFor();
    await tab.page.getByText('The workspace "unsaved" has lost its files').waitFor();
    await tab.failure('OPERATION_INTERRUPTED');
    await tab.button('Start').click();
    await tab.button('Start empty').click();
    await tab.page.getByText('The directory is empty.').waitFor();
  });

  test('executes nothing in an output', async () => {
    await using tab = await fixture.signedIn(FILES);
    const shown = await run(
      tab,
      String.raw`printf '\033[31m<img src=x onerror=alert(1)>\033]0;title\007\033[0m\007'`,
    );
    assert.ok(shown.includes('<img src=x onerror=alert(1)>\\u0007'), shown);
  });

  test('run in / where a command moved the directory of the workspace away', async () => {
    await fixture.world.workspace('moved').create();
    await using tab = await fixture.signedIn('#/workspaces/default/moved/files');
    await run(tab, 'cd / && mv workspace kept');
    await tab.field('Command').fill('pwd');
    await tab.button('Run').click();
    await tab.failure('INVALID_DIRECTORY');
    await tab.field('Command').fill('mv kept workspace');
    await tab.button('Run in /').click();
    await tab.page
      .getByRole('listitem')
      .filter({ hasText: 'mv kept workspace' })
      .getByText('exit 0')
      .waitFor();
    assert.match(await run(tab, 'pwd'), /^\/workspace$/m);
  });

  test('is accessible, in both color schemes', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await using tab = await fixture.signedIn(FILES, { colorScheme, viewport: { width: 360, height: 740 } });
      await run(tab, 'echo hello; exit 1');
      assert.deepEqual(await violations(tab, {}), []);
      assert.equal(await tab.evaluate(OVERFLOW), 0);
    }
  });
});

test('without the permission `work`, neither files nor commands are offered', async () => {
  const { token } = await fixture.world.rpc('tokens/create', {
    permissions: ['read', 'snapshot'],
  });
  await using tab = await fixture.open();
  await tab.signIn(token);
  await tab.visit(PAGE);
  await tab.button(`Stop ${NAME}`).waitFor();
  assert.equal(await tab.link('Files and commands').count(), 0);
});
