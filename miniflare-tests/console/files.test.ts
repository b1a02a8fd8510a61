// Tests of the files of a snapshot, and of the differences between two snapshots.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';

import type { TakenSnapshot } from '../../client/src/index.ts';
import { OVERFLOW, violations } from './accessibility.ts';
import { ConsoleFixture, type Tab } from './browser.ts';

let first: TakenSnapshot;
let second: TakenSnapshot;
const fixture = new ConsoleFixture({}, async (world) => {
  await world.exec(
    'origin',
    `mkdir -p src/deep; printf 'one\\ntwo\\nthree\\n' > src/main.txt; printf '\\377\\376' > binary
    touch "$(printf 'src/odd \\342\\200\\256name')"; echo old > removed.txt`,
  );
  first = await world.snapshot('origin', { label: 'first' });
  await world.exec(
    'origin',
    `printf 'one\\n2\\nthree\\nfour\\n' > src/main.txt; rm removed.txt; echo new > added.txt`,
  );
  second = await world.snapshot('origin', { label: 'second' });
});

const files = (snapshot: TakenSnapshot, path = '') =>
  `#/files/origin/${snapshot.ref.snapshotId}${path && `?path=${encodeURIComponent(path)}`}`;
const diff = () => `#/diff/origin/${first.ref.snapshotId}/origin/${second.ref.snapshotId}`;

describe('the files of a snapshot', () => {
  test('are browsed from the snapshot to the text of a file', async () => {
    await using tab = await fixture.atSnapshot(first);
    await tab.button('Files').click();
    await tab.page.getByRole('heading', { name: 'All files' }).waitFor();
    await tab.link('src/').click();
    await tab.link('main.txt').click();
    const content = tab.page.getByLabel('Content');
    assert.equal(await content.innerText(), 'one\ntwo\nthree\n');
    await tab.link('src').click();
    await tab.link('deep/').waitFor();
    await tab.link('All files').click();
    await tab.link('binary').click();
    await tab.page.getByText('The content is not text').waitFor();
    await tab.link(`first (${first.ref.snapshotId})`).click();
    await tab.details.getByRole('heading', { name: 'first' }).waitFor();
  });

  test('are added up, so that the largest ones are seen', async () => {
    await using tab = await fixture.signedIn(files(first));
    await tab.button('What takes the space').click();
    const entries = tab.page.getByRole('list', { name: 'Largest entries' });
    assert.match(await entries.getByRole('listitem').first().innerText(), /^src\/\s+2 files\s+14 B$/);
    const largest = tab.page.getByRole('list', { name: 'Largest files' });
    await largest.getByRole('link', { name: 'src/main.txt' }).click();
    assert.equal(await tab.page.getByLabel('Content').innerText(), 'one\ntwo\nthree\n');
  });

  test('are downloaded, and a directory as a tar', async () => {
    await using tab = await fixture.signedIn(files(first, 'src/main.txt'));
    const save = async (button: string) => {
      const [download] = await Promise.all([tab.page.waitForEvent('download'), tab.button(button).click()]);
      return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
    };
    const file = await save('Download');
    assert.deepEqual([file.name, file.bytes.toString()], ['main.txt', 'one\ntwo\nthree\n']);
    await tab.visit(files(first, 'src'));
    const tar = await save('Download as tar');
    assert.deepEqual([tar.name, tar.bytes.subarray(257, 262).toString()], ['src.tar', 'ustar']);
  });

  test('that do not exist are reported', async () => {
    await using tab = await fixture.signedIn(files(first, 'missing'));
    assert.match(await tab.failure('FILE_NOT_FOUND'), /missing/);
  });
});

describe('the differences between two snapshots', () => {
  test('are shown from the older to the newer one', async () => {
    await using tab = await fixture.atSnapshot(second);
    await tab.button('Compare…').click();
    const others = tab.dialog.getByLabel('With');
    const selected = others.locator('option:checked');
    assert.match(await selected.innerText(), /^Present files of /, 'the present files are preselected');
    const [first] = (await others.locator('option').allInnerTexts()).filter((text) => /^first, /.test(text));
    await others.selectOption({ label: first! });
    await tab.button('Compare').click();
    await tab.page.getByText('3 differences').waitFor();
    await tab.page.getByRole('heading', { name: 'first → second' }).waitFor();
    const shown = await tab.page.getByRole('listitem').allInnerTexts();
    assert.match(
      shown.join('\n'),
      /added\s+added\.txt\s+new, 4 B.*removed\s+removed\.txt.*changed\s+src\/main\.txt/s,
    );
  });

  test('have both modes of a file, and those below .git only on demand', async () => {
    await fixture.world.exec('modes', 'mkdir .git; echo one > .git/index; echo x > run.sh; chmod 644 run.sh');
    const before = await fixture.world.snapshot('modes', { label: 'before' });
    await fixture.world.exec('modes', 'echo longer > .git/index; chmod 755 run.sh');
    const after = await fixture.world.snapshot('modes', { label: 'after' });
    await using tab = await fixture.signedIn(
      `#/diff/modes/${before.ref.snapshotId}/modes/${after.ref.snapshotId}`,
    );
    await tab.page.getByText('mode 0644 → 0755').waitFor();
    assert.equal(await tab.page.getByText('.git/index').count(), 0);
    await tab.button('Show the differences below .git').click();
    await tab.page.getByText('.git/index').first().waitFor();
  });

  test('are absent where sizes and times are the same, with a link to what that means', async () => {
    await fixture.world.exec('same', 'echo same > file; touch -d @1234567890 file');
    const { ref: before } = await fixture.world.snapshot('same', { label: 'before' });
    await fixture.world.exec('same', 'echo else > file; touch -d @1234567890 file');
    const { ref: after } = await fixture.world.snapshot('same', { label: 'after' });
    await using tab = await fixture.signedIn(`#/diff/same/${before.snapshotId}/same/${after.snapshotId}`);
    await tab.page.getByText('Files with the same size and time count as the same').waitFor();
    const link = (await tab.link('how files are compared').getAttribute('href')) ?? '';
    const guide = await (await fetch(await fixture.world.url(link.replace(/#.*/, '')))).text();
    assert.ok(guide.includes(`id="${link.replace(/.*#/, '')}"`), link);
  });

  test('of a text are side by side', async () => {
    await using tab = await fixture.signedIn(diff());
    await tab.button('Hide the content of src/main.txt').waitFor();
    const rows = tab.page.getByRole('region', { name: 'Content of src/main.txt' }).getByRole('row');
    await rows.nth(4).waitFor();
    const texts = (await rows.allInnerTexts()).map((text) => text.split('\t').map((cell) => cell.trim()));
    assert.deepEqual(texts.slice(1), [
      ['one', 'one'],
      ['two', '2'],
      ['three', 'three'],
      ['', 'four'],
    ]);
  });

  test('of many or large files are shown on request', async () => {
    await fixture.world.exec(
      'many',
      'for n in 1 2 3 4 5; do echo $n > file-$n; done; head -c 20000 /dev/zero > large',
    );
    const before = await fixture.world.snapshot('many', { label: 'before' });
    await fixture.world.exec('many', 'for n in 1 2 3 4; do echo more >> file-$n; done; echo more >> large');
    const middle = await fixture.world.snapshot('many', { label: 'middle' });
    await fixture.world.exec('many', 'echo more >> file-5');
    const after = await fixture.world.snapshot('many', { label: 'after' });
    const hide = /^Hide the content of /;
    await using tab = await fixture.signedIn(
      `#/diff/many/${before.ref.snapshotId}/many/${middle.ref.snapshotId}`,
    );
    await tab.button('Show the content of large').waitFor();
    assert.equal(await tab.button(hide).count(), 4);
    await tab.visit(`#/diff/many/${before.ref.snapshotId}/many/${after.ref.snapshotId}`);
    await tab.button('Show the content of file-5').waitFor();
    assert.equal(await tab.button(hide).count(), 0);
  });
});

describe('a file of a snapshot', () => {
  const NAME = 'notes';
  const notes = () => fixture.world.workspace(NAME);
  /** The snapshot of a sandbox that the workspace had before a rollback. */
  let former: TakenSnapshot;

  before(async () => {
    const { sandboxId } = await notes().create();
    await notes().exec('mkdir src; echo saved > src/notes.txt; echo saved > other.txt');
    former = await fixture.world.snapshot(sandboxId, { label: 'saved' });
    await notes().update({ currentSnapshotId: former.ref.snapshotId });
    assert.notEqual(await notes().sandboxId(), sandboxId);
  });

  const page = (path: string) =>
    `#/files/${former.ref.originId}/${former.ref.snapshotId}?path=${encodeURIComponent(path)}`;

  test('is restored to the workspace in which it was deleted', async () => {
    await notes().exec('rm -r src');
    await using tab = await fixture.signedIn(page('src/notes.txt'));
    await tab.button('Restore this file…').click();
    await tab.dialog.getByText('/workspace/src/notes.txt in the workspace notes').waitFor();
    await tab.button('Restore').click();
    await tab.notice('src/notes.txt is restored in the workspace notes.');
    await tab.dialog.waitFor({ state: 'detached' });
    assert.equal(await notes().exec('cat src/notes.txt'), 'saved\n');
  });

  test('replaces an existing one only if the user selects it', async () => {
    await notes().exec('echo newer > other.txt');
    await using tab = await fixture.signedIn(page('other.txt'));
    await tab.button('Restore this file…').click();
    await tab.button('Restore').click();
    assert.match(
      await tab.failure('FILE_EXISTS'),
      /other\.txt exists.*To replace it, select “Replace the file if it exists”/s,
    );
    assert.equal(await notes().exec('cat other.txt'), 'newer\n');
    await tab.field('Replace the file if it exists').check();
    await tab.button('Restore').click();
    await tab.notice('other.txt is restored in the workspace notes.');
    assert.equal(await notes().exec('cat other.txt'), 'saved\n');
  });

  test('is restored with its directory, in which existing files stay', async () => {
    await notes().exec('rm -r src; echo newer > other.txt; echo only > here.txt');
    await using tab = await fixture.signedIn(page(''));
    await tab.button('Restore this directory…').click();
    await tab.dialog.getByText('Writes /workspace in the workspace notes').waitFor();
    await tab.button('Restore').click();
    await tab.notice('/ is restored in the workspace notes: 1 written, 1 exist and were not changed.');
    assert.equal(await notes().exec('cat src/notes.txt other.txt here.txt'), 'saved\nnewer\nonly\n');
  });

  test('is restored from the differences to the present files', async () => {
    await notes().exec('echo newer > other.txt; rm -r src');
    await using tab = await fixture.signedIn(
      `#/diff/${former.ref.originId}/${former.ref.snapshotId}/${await notes().sandboxId()}`,
    );
    await tab.button('Restore src/notes.txt…').waitFor();
    await tab.button('Restore src…').click();
    await tab.button('Restore').click();
    await tab.notice('src is restored in the workspace notes: 1 written.');
    await tab.button('Restore src…').waitFor({ state: 'detached' });
    await tab.button('Restore other.txt…').click();
    await tab.dialog.getByText('Replaces /workspace/other.txt in the workspace notes').waitFor();
    await tab.button('Replace').click();
    await tab.notice('other.txt is restored in the workspace notes.');
    await tab.button('Restore other.txt…').waitFor({ state: 'detached' });
    assert.equal(await notes().exec('cat src/notes.txt other.txt'), 'saved\nsaved\n');
  });

  test('is not offered in the differences between two snapshots, or without the permission', async () => {
    await using tab = await fixture.signedIn(page('other.txt'));
    await tab.button('Restore this file…').waitFor();
    await tab.visit(diff());
    await tab.button('Hide the content of src/main.txt').waitFor();
    assert.equal(await tab.button(/^Restore/).count(), 0);
    const { token } = await fixture.world.rpc('tokens/create', { permissions: ['read', 'snapshot'] });
    await using reader = await fixture.open();
    await reader.signIn(token);
    await reader.visit(page('other.txt'));
    await reader.page.getByText('read, snapshot', { exact: true }).waitFor();
    await reader.button('Download').waitFor();
    assert.equal(await reader.button('Restore this file…').count(), 0);
  });

  test('cannot be restored to a stopped workspace', async () => {
    await notes().stop();
    await using tab = await fixture.signedIn(page('other.txt'));
    await tab.button('Restore this file…').click();
    await tab.dialog.getByText('Start the workspace first.').waitFor();
    assert.equal(await tab.button('Restore').getAttribute('aria-disabled'), 'true');
    await tab.dialog.getByRole('link', { name: 'notes' }).click();
    await tab.page.getByRole('heading', { name: 'notes' }).waitFor();
  });
});

/** The views, and what each shows when it is complete. */
const VIEWS: Record<string, (tab: Tab) => Promise<void>> = {
  async 'a directory'(tab) {
    await tab.visit(files(first));
    await tab.link('src/').waitFor();
  },
  async 'what takes the space'(tab) {
    await tab.visit(files(first));
    await tab.button('What takes the space').click();
    await tab.page.getByRole('list', { name: 'Largest files' }).waitFor();
  },
  async 'a file'(tab) {
    await tab.visit(files(first, 'src/main.txt'));
    await tab.page.getByLabel('Content').waitFor();
  },
  async 'the dialog that restores a file'(tab) {
    await tab.visit(files(first, 'src/main.txt'));
    await tab.button('Restore this file…').click();
    await tab.dialog.getByText('in the sandbox origin').waitFor();
    await tab.button('Restore').click();
    await tab.failure('FILE_EXISTS');
  },
  async 'the dialog that restores a directory'(tab) {
    await tab.visit(files(first, 'src'));
    await tab.button('Restore this directory…').click();
    await tab.dialog.getByText('Files that are only in the sandbox stay.').waitFor();
  },
  async differences(tab) {
    await tab.visit(diff());
    await tab.button('Hide the content of src/main.txt').waitFor();
    await tab.page.getByRole('region', { name: 'Content of src/main.txt' }).waitFor();
  },
};

for (const [name, open] of Object.entries(VIEWS))
  for (const colorScheme of ['light', 'dark'] as const)
    test(`${name} in ${colorScheme} colors is accessible, and fits on a small screen`, async () => {
      await using tab = await fixture.signedIn(undefined, {
        colorScheme,
        viewport: { width: 360, height: 740 },
      });
      await open(tab);
      assert.deepEqual(await violations(tab, {}), []);
      assert.equal(await tab.evaluate(OVERFLOW), 0);
    });
