// A unified diff. The first character and the element of a line show its kind, not only the color.

import type { CheckpointDiff } from '../../../client/src/index.ts';
import { size } from '../format.ts';
import { Icon } from '../ui/icons.tsx';
import { Name } from '../ui/name.tsx';

type Kind = 'added' | 'removed' | 'hunk' | 'head' | 'same';

/** The changes since a checkpoint. */
export function Diff({ of: { name, diff, truncated, sizeBytes } }: { of: CheckpointDiff }) {
  return (
    <section aria-labelledby="diff">
      <h3 id="diff">
        Changes since “<Name of={name} />”
      </h3>
      {diff === '' ? (
        <p class="empty">No changes.</p>
      ) : (
        <pre class="diff" tabIndex={0} aria-labelledby="diff">
          {blocks(diff).map(({ kind, text }, at) => (
            <Block key={at} kind={kind} text={text} />
          ))}
        </pre>
      )}
      {truncated && (
        <p class="remark">
          <Icon name="warning" /> The diff is cut off. Its full size is {size(sizeBytes)}.
        </p>
      )}
    </section>
  );
}

function Block({ kind, text }: { kind: Kind; text: string }) {
  if (kind === 'added') return <ins>{text}</ins>;
  return kind === 'removed' ? <del>{text}</del> : <span class={kind}>{text}</span>;
}

/** Groups consecutive lines of the same kind. */
export function blocks(diff: string): { kind: Kind; text: string }[] {
  const found: { kind: Kind; text: string }[] = [];
  let isInHunk = false;
  for (const line of diff.split(/(?<=\n)/)) {
    if (line.startsWith('diff ')) isInHunk = false;
    if (line.startsWith('@@')) isInHunk = true;
    const kind = kindOf(line, isInHunk);
    const last = found.at(-1);
    if (last?.kind === kind) last.text += line;
    else found.push({ kind, text: line });
  }
  return found;
}

/** Returns the kind of a line. `---` and `+++` are file names before the first hunk of a file, and changed lines in a hunk. */
function kindOf(line: string, isInHunk: boolean): Kind {
  if (!isInHunk) return 'head';
  if (line.startsWith('@@')) return 'hunk';
  if (line.startsWith('+')) return 'added';
  return line.startsWith('-') ? 'removed' : 'same';
}
