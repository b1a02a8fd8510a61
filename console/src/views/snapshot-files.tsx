// The files of a snapshot: its directories, and the text of a file. Both can be restored.

import { useState } from 'preact/hooks';

import type { FileContent, FilePage } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { save } from '../download.ts';
import { size } from '../format.ts';
import { href } from '../routes.ts';
import { client } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Name } from '../ui/name.tsx';
import { Remark } from '../ui/remark.tsx';
import { FileFacts, FileTable, PathLinks } from './file-table.tsx';
import { RestoreFiles } from './restore-files.tsx';
import { SnapshotName } from './snapshot-name.tsx';
import { Space } from './space.tsx';
import { useFiles, type Found } from './use-files.ts';

interface FilesProps {
  sandboxId: string;
  snapshotId: string;
  path?: string;
}

/** The number of files that one call lists. */
const LIMIT = 500;

/** A directory or a file of a snapshot. */
export function FilesView({ sandboxId, snapshotId, path = '' }: FilesProps) {
  const selection = { sandboxId, snapshotId };
  const { value, failure, retry } = useFiles(selection, path, LIMIT);
  const type = value?.file.type;
  const [isRestoring, setRestoring] = useState(false);
  const saving = useAction(
    {
      operation: 'download',
      subject: JSON.stringify([sandboxId, snapshotId, path]),
      title: (
        <>
          The download of <Name of={path || snapshotId} />
        </>
      ),
    },
    () => save({ ...selection, path }, type === 'directory'),
  );
  return (
    <>
      <header class="page-head">
        <p class="kind">
          Files of the snapshot{' '}
          <a href={href({ at: 'sandbox', sandboxId, selected: selection })}>
            <SnapshotName {...selection} />
          </a>
        </p>
        <h1>
          <PathLinks path={path} linkTo={(to) => href({ at: 'files', ...selection, path: to })} />
        </h1>
        {(type === 'directory' || type === 'file') && (
          <div class="buttons">
            <Button needs="files/restore" icon="restore" onClick={() => setRestoring(true)}>
              Restore this {type}…
            </Button>
            <Button busy={saving.busy} onClick={() => void saving.run()}>
              {type === 'directory' ? 'Download as tar' : 'Download'}
            </Button>
          </div>
        )}
      </header>
      <Failure of={saving.failure} retry={saving.retry} />
      <Failure of={failure} retry={retry} />
      {value === undefined && failure === undefined && <p class="empty">Reading the archive…</p>}
      {value?.page && <DirectoryView key={path} of={value.page} {...selection} path={path} />}
      {value && !value.page && <FileView {...value} />}
      {isRestoring && (
        <RestoreFiles
          of={selection}
          path={path}
          isDirectory={type === 'directory'}
          onClose={() => setRestoring(false)}
        />
      )}
    </>
  );
}

function DirectoryView({ of, path, ...selection }: FilesProps & { of: FilePage; path: string }) {
  const [files, setFiles] = useState(of.files);
  const [cursor, setCursor] = useState(of.cursor);
  const [hasSizes, setHasSizes] = useState(false);
  const linkTo = (to: string) => href({ at: 'files', ...selection, path: to });
  const reading = useAction(
    {
      operation: 'list',
      subject: JSON.stringify([selection, path]),
      title: <>Listing more files</>,
    },
    async (after: string) => {
      const page = await client.files.list({ ...selection, path: path || '/', limit: LIMIT, cursor: after });
      setFiles((previous) => [...previous, ...page.files]);
      setCursor(page.cursor);
    },
  );
  if (files.length === 0) return <p class="empty">The directory is empty.</p>;
  return (
    <>
      <FileTable files={files} path={path} linkTo={linkTo} />
      <div class="buttons">
        {cursor !== undefined && (
          <Button busy={reading.busy} onClick={() => void reading.run(cursor)}>
            Show more files
          </Button>
        )}
        {!hasSizes && <Button onClick={() => setHasSizes(true)}>What takes the space</Button>}
      </div>
      <Failure of={reading.failure} retry={reading.retry} />
      {hasSizes && <Space {...selection} path={path} linkTo={linkTo} />}
    </>
  );
}

/** The attributes of a file, and its text. */
function FileView({ file, content }: Found) {
  return (
    <>
      <FileFacts of={file} />
      {content && <Content of={content} />}
    </>
  );
}

function Content({ of: { content, encoding, length, sizeBytes } }: { of: FileContent }) {
  if (encoding !== 'utf8') return <p class="empty">The content is not text. Download the file to use it.</p>;
  if (length === 0) return <p class="empty">The file is empty.</p>;
  return (
    <>
      {length < sizeBytes && (
        <Remark>
          These are the first {size(length)} of {size(sizeBytes)}. Download the file for the rest.
        </Remark>
      )}
      <pre class="panel content" tabIndex={0} aria-label="Content">
        {content}
      </pre>
    </>
  );
}
