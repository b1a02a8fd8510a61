// A unified diff. The first character and the element of a line show its kind, not only the color.

import { useId } from 'preact/hooks';

import type { CheckpointDiff } from '../../../client/src/index.ts';
import { count, size } from '../format.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Name } from '../ui/name.tsx';
import { Remark } from '../ui/remark.tsx';
import { filesOf, type Block, type FileDiff } from './diff-files.ts';

/** The changes since a checkpoint, in a dialog as wide as the page: the list of the files, and the changes of each. */
export function Diff({
  of: { name, diff, truncated, sizeBytes },
  onClose,
}: {
  of: CheckpointDiff;
  onClose: () => void;
}) {
  const id = useId();
  const files = filesOf(diff);
  const title = (
    <>
      Changes since “<Name of={name} />”
    </>
  );
  const show = (at: number) => {
    const file = document.getElementById(`${id}-${at}`);
    file?.scrollIntoView({ block: 'start' });
    file?.focus({ preventScroll: true });
  };
  return (
    <Dialog title={title} onClose={onClose} isWide>
      {truncated && <Remark>The diff is cut off. Its full size is {size(sizeBytes)}.</Remark>}
      {files.length === 0 ? (
        <p class="empty">No changes.</p>
      ) : (
        <div class="changes">
          <nav aria-label="Changed files">
            <p class="hint">{count(files.length, 'file')}</p>
            <ul class="plain">
              {files.map(({ path, added, removed }, at) => (
                <li key={at}>
                  <button type="button" class="link mono" onClick={() => show(at)}>
                    <Name of={path} />
                  </button>{' '}
                  <Counts added={added} removed={removed} />
                </li>
              ))}
            </ul>
          </nav>
          <div>
            {files.map((file, at) => (
              <File key={at} id={`${id}-${at}`} of={file} />
            ))}
          </div>
        </div>
      )}
      <div class="buttons end">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span class="counts mono">
      <ins>+{added}</ins> <del>−{removed}</del>
    </span>
  );
}

function File({ id, of: { path, blocks } }: { id: string; of: FileDiff }) {
  return (
    <section aria-labelledby={id}>
      <h3 id={id} class="mono" tabIndex={-1}>
        <Name of={path} />
      </h3>
      <pre class="diff" tabIndex={0} aria-labelledby={id}>
        {blocks.map((block, at) => (
          <Lines key={at} of={block} />
        ))}
      </pre>
    </section>
  );
}

function Lines({ of: { kind, text } }: { of: Block }) {
  if (kind === 'added') return <ins>{text}</ins>;
  return kind === 'removed' ? <del>{text}</del> : <span class={kind}>{text}</span>;
}
