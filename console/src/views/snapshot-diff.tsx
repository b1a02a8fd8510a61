// The files that differ between two snapshots, or a snapshot and the present files, and the text of a file side by side.

import { useEffect, useState } from 'preact/hooks';

import type { FileChange } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { PART } from '../../../client/src/file-stream.ts';
import { count, size } from '../format.ts';
import { sideBySide } from '../lines.ts';
import { useOnce } from '../once.ts';
import { client } from '../session.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Name } from '../ui/name.tsx';
import { Remark } from '../ui/remark.tsx';
import { attributeOf, isOfGit } from './changes.ts';
import { DiffHead, isSnapshot, type Sides, type Snapshot } from './diff-head.tsx';
import { RestoreFiles } from './restore-files.tsx';

/** The number of differences that one call lists. */
const LIMIT = 200;

/** The maximum number of files whose contents are shown without a request, and the maximum size of each, in bytes. */
const FEW = 5;
const SMALL = 10_000;

const TONES = { added: 'good', removed: 'bad', changed: 'accent', renamed: 'plain' } as const;

/** The differences between two snapshots. */
export function DiffView({ from, to }: Sides) {
  const [changes, setChanges] = useState<FileChange[]>([]);
  const [cursor, setCursor] = useState<string>();
  const [isComplete, setComplete] = useState(false);
  const [isGitShown, setGitShown] = useState(false);
  const reading = useAction(
    { operation: 'diff', subject: JSON.stringify([from, to]), title: <>Comparing files</> },
    async (after?: string) => {
      const page = await client.diff({
        from,
        to,
        limit: LIMIT,
        ...(after !== undefined && { cursor: after }),
      });
      setChanges((previous) => [...(after === undefined ? [] : previous), ...page.changes]);
      setCursor(page.cursor);
      setComplete(page.cursor === undefined);
    },
  );
  const ofGit = changes.filter(isOfGit).length;
  const shown = isGitShown ? changes : changes.filter((change) => !isOfGit(change));
  const isFew = isComplete && shown.filter(canOpen).length <= FEW;
  useEffect(() => void reading.run(), [JSON.stringify([from, to])]);
  return (
    <>
      <DiffHead from={from} to={to} />
      {changes.length > 0 && (
        <p class="hint" role="status">
          {count(changes.length, 'difference')}
          {!isComplete && ', and possibly more'}
        </p>
      )}
      {ofGit > 0 && (
        <p class="hint">
          {isGitShown ? 'Including' : 'Hidden:'} {count(ofGit, 'difference')} below <code>.git</code>.{' '}
          <button type="button" class="link" onClick={() => setGitShown(!isGitShown)}>
            {isGitShown ? 'Hide' : 'Show'} <span class="unseen">the differences below .git</span>
          </button>
        </p>
      )}
      <ul class="cards differences">
        {shown.map((change) => (
          <Difference
            key={`${change.change} ${change.pathBytes ?? change.path}`}
            of={change}
            from={from}
            to={to}
            isFew={isFew}
            onRestored={() => void reading.run()}
          />
        ))}
      </ul>
      {isComplete && changes.length === 0 && (
        <p class="empty">
          No differences were found. Files with the same size and time count as the same:{' '}
          <a href="/docs/guides/files#compare-two-snapshots" target="_blank" rel="noopener">
            how files are compared
          </a>
          .
        </p>
      )}
      {reading.busy && changes.length === 0 && <p class="empty">Comparing the files…</p>}
      {cursor !== undefined && (
        <div class="buttons">
          <Button busy={reading.busy} onClick={() => void reading.run(cursor)}>
            Show more differences
          </Button>
        </div>
      )}
      <Failure of={reading.failure} retry={reading.retry} />
    </>
  );
}

/** Whether a difference is one of contents that can be shown. */
function canOpen({ from, to, change, pathBytes, differences }: FileChange): boolean {
  const areFiles = [from, to].every((file) => file === undefined || file.type === 'file');
  const differ = change === 'changed' ? differences?.includes('content') === true : change !== 'renamed';
  return pathBytes === undefined && areFiles && differ;
}

const isSmall = ({ from, to }: FileChange) => [from, to].every((file) => !file || file.sizeBytes <= SMALL);

/** `isFew` is whether there are so few files that the small ones are open at first. */
function Difference({
  of,
  from,
  to,
  isFew,
  onRestored,
}: Sides & { of: FileChange; isFew: boolean; onRestored: () => void }) {
  const isShowable = canOpen(of);
  const [isOpen, setOpen] = useState(isFew && isShowable && isSmall(of));
  const [isRestoring, setRestoring] = useState(false);
  const { path, pathBytes, previousPath, change, certainty, differences } = of;
  const isRestorable = of.from?.type === 'file' || of.from?.type === 'symlink' || change === 'removed';
  const canRestore =
    !isSnapshot(to) &&
    pathBytes === undefined &&
    change !== 'renamed' &&
    of.from !== undefined &&
    isRestorable;
  return (
    <li>
      <div>
        <Badge tone={TONES[change]}>{change}</Badge>{' '}
        <span class="mono">
          {previousPath !== undefined && (
            <>
              <Name of={previousPath} />
              {' → '}
            </>
          )}
          <Name of={path} />
          {(of.to ?? of.from)?.type === 'directory' && '/'}
        </span>{' '}
        <span class="hint">
          {sizes(of)}
          {differences && `, ${differences.map((name) => attributeOf(name, of)).join(', ')}`}
          {certainty === 'metadata' && ', only the times were compared'}
        </span>
      </div>
      {(isShowable || canRestore) && (
        <div class="buttons">
          {isShowable && (
            <Button
              label={`${isOpen ? 'Hide' : 'Show'} the content of ${path}`}
              onClick={() => setOpen(!isOpen)}
            >
              {isOpen ? 'Hide' : 'Show'}
            </Button>
          )}
          {canRestore && (
            <Button needs="files/restore" label={`Restore ${path}…`} onClick={() => setRestoring(true)}>
              Restore…
            </Button>
          )}
        </div>
      )}
      {isRestoring && (
        <RestoreFiles
          of={from}
          path={path}
          isDirectory={of.from?.type === 'directory'}
          isReplaced={change === 'changed'}
          to={to.sandboxId}
          onRestored={onRestored}
          onClose={() => setRestoring(false)}
        />
      )}
      {isOpen && <Contents of={of} from={from} to={to} />}
    </li>
  );
}

/** The sizes before and after. */
function sizes({ from, to }: FileChange): string {
  const of = (file: NonNullable<FileChange['from']>) =>
    file.type === 'file' ? size(file.sizeBytes) : file.type;
  if (!from) return to ? `new, ${of(to)}` : '';
  if (!to) return of(from);
  return from.type === to.type && from.sizeBytes === to.sizeBytes ? of(to) : `${of(from)} → ${of(to)}`;
}

/** The content of a file in both snapshots, side by side. */
function Contents({ of, from, to }: Sides & { of: FileChange }) {
  const { value, failure, retry } = useOnce(JSON.stringify([from, to, of.path]), (options) => {
    const read = (snapshot: Snapshot, file: FileChange['from']) =>
      file && client.files.read({ ...snapshot, path: of.path, length: PART, ...options });
    return Promise.all([read(from, of.from), read(to, of.to)]);
  });
  if (failure !== undefined) return <Failure of={failure} retry={retry} />;
  if (value === undefined) return <p class="empty">Reading the file…</p>;
  const [before, after] = value;
  if ([before, after].some((file) => file && file.encoding !== 'utf8'))
    return <Remark>The content is not text.</Remark>;
  const isCut = [before, after].some((file) => file && file.length < file.sizeBytes);
  return (
    <>
      {isCut && <Remark>Only the first {size(PART)} of the file are compared.</Remark>}
      <div class="scroll" tabIndex={0} role="region" aria-label={`Content of ${of.path}`}>
        <table class="sides mono">
          <thead>
            <tr>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {sideBySide(before?.content ?? '', after?.content ?? '').map((row, at) => (
              <tr key={at}>
                <td>
                  {row.before !== undefined &&
                    (row.before === row.after ? row.before : <del>{row.before}</del>)}
                </td>
                <td>
                  {row.after !== undefined && (row.before === row.after ? row.after : <ins>{row.after}</ins>)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
