// A unified diff. What its lines are is told by their first character and by the element, and only then by colour.

import type { CheckpointDiff } from '../../../client/src/index.ts';
import { size } from '../texts.ts';
import { Icon } from '../ui/icons.tsx';
import { Name } from '../ui/name.tsx';

type Kind = 'added' | 'removed' | 'hunk' | 'head' | 'same';

/** What differs from a checkpoint. */
export function Diff({ of: { name, diff, truncated, sizeBytes } }: { of: CheckpointDiff }) {
  return (
    <section aria-labelledby="diff">
      <h3 id="diff">
        What differs from “<Name of={name} />”
      </h3>
      {diff === '' ? (
        <p class="empty">Nothing.</p>
      ) : (
        <pre class="diff" tabIndex={0} aria-labelledby="diff">
          {blocks(diff).map(({ kind, text }, at) => (
            <Block key={at} kind={kind} text={text} />
          ))}
        </pre>
      )}
      {truncated && (
        <p class="remark">
          <Icon name="warning" /> The end is cut off: the whole diff has {size(sizeBytes)}.
        </p>
      )}
    </section>
  );
}

function Block({ kind, text }: { kind: Kind; text: string }) {
  if (kind === 'added') return <ins>{text}</ins>;
  return kind === 'removed' ? <del>{text}</del> : <span class={kind}>{text}</span>;
}

/** Lines that follow one another and are of one kind, together. */
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

/** The `---` and `+++` before the first hunk of a file are names; within a hunk they are lines that begin like that. */
function kindOf(line: string, isInHunk: boolean): Kind {
  if (!isInHunk) return 'head';
  if (line.startsWith('@@')) return 'hunk';
  if (line.startsWith('+')) return 'added';
  return line.startsWith('-') ? 'removed' : 'same';
}
