// A file of a running workspace: its attributes, and an editor for a short text.

import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

import { SnapshotterError, type FileContent, type FileDescription } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { saveFromWorkspace } from '../download.ts';
import { size } from '../format.ts';
import { permits } from '../permissions.ts';
import type { Address } from '../routes.ts';
import { client } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Name } from '../ui/name.tsx';
import { Remark } from '../ui/remark.tsx';
import { draftOf, keepDraft } from './drafts.ts';
import { FileFacts } from './file-table.tsx';

interface FileProps {
  address: Address;
  path: string;
  /** Called after the file was changed, or to read it again. */
  onChange: () => void;
}

/** The maximum size of a text that can be edited, in bytes. */
const MAX_EDITED = 256 * 1024;

/** A file, its text, and its download. */
export function WorkspaceFile({
  address,
  path,
  file,
  content,
  onChange,
}: FileProps & { file: FileDescription; content?: FileContent }) {
  const saving = useAction(
    {
      operation: 'download',
      subject: JSON.stringify([address, path]),
      title: (
        <>
          The download of <Name of={path} />
        </>
      ),
    },
    () => saveFromWorkspace(address, path),
  );
  return (
    <>
      <FileFacts of={file} />
      {content && <Text {...{ address, path, onChange }} of={content} />}
      {content && (
        <div class="buttons">
          <Button busy={saving.busy} onClick={() => void saving.run()}>
            Download
          </Button>
        </div>
      )}
      <Failure of={saving.failure} retry={saving.retry} />
    </>
  );
}

function Text({ of, ...props }: FileProps & { of: FileContent }) {
  const { content, encoding, length, sizeBytes, etag } = of;
  if (encoding !== 'utf8') return <p class="empty">The content is not text. Download the file to use it.</p>;
  const isWhole = length === sizeBytes;
  // A text field would change other line breaks.
  const isEditable = isWhole && etag !== undefined && sizeBytes <= MAX_EDITED && !content.includes('\r');
  if (isEditable && permits('files/write')) return <Editor of={of} {...props} />;
  return (
    <>
      {!isWhole && (
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

/** A text field with the content, or the draft. It replaces the file only if that has not changed meanwhile. */
function Editor({ address, path, of, onChange }: FileProps & { of: FileContent }) {
  const [kept] = useState(() => draftOf(address, path));
  const [base, setBase] = useState(kept?.base ?? of);
  const [text, setText] = useState(kept?.text ?? of.content);
  const isChanged = text !== base.content;
  const adopt = () => {
    setBase(of);
    setText(of.content);
  };
  useEffect(() => {
    if (!isChanged) adopt();
  }, [of.etag]);
  // At once: another page may replace this one before the next frame.
  useLayoutEffect(() => keepDraft(address, path, { base, text }), [base, text]);
  const saving = useAction(
    {
      operation: 'files/write',
      subject: JSON.stringify([address, path]),
      title: (
        <>
          Saving <Name of={path} />
        </>
      ),
    },
    async () => {
      const { etag } = await client.files.write({
        ...address,
        path,
        content: text,
        ...(base.etag && { ifMatch: base.etag }),
      });
      setBase({ ...base, content: text, ...(etag && { etag }) });
      onChange();
      return {
        message: (
          <>
            <Name of={path} /> is written. The next snapshot has it.
          </>
        ),
      };
    },
  );
  const isOld = of.etag !== base.etag && isChanged;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void saving.run();
      }}
    >
      <textarea
        class="panel content"
        aria-label="Content"
        rows={Math.min(30, Math.max(6, text.split('\n').length + 1))}
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {kept && isChanged && !isOld && <p class="hint">This is your text from before, which is not saved.</p>}
      {isOld && (
        <Remark>The file has changed since you opened it, so your text cannot be saved over it.</Remark>
      )}
      <div class="buttons">
        <Button variant="primary" busy={saving.busy} disabled={!isChanged}>
          Save
        </Button>
        {isChanged && (
          <Button
            variant="quiet"
            onClick={() => {
              adopt();
              onChange();
            }}
          >
            Discard changes
          </Button>
        )}
      </div>
      <Failure
        of={saving.failure}
        remediation={
          saving.failure instanceof SnapshotterError && saving.failure.code === 'FILE_CHANGED'
            ? 'Copy your text, discard your changes, and apply them to the present content.'
            : undefined
        }
        retry={saving.retry}
      />
    </form>
  );
}
