// A field for a span of time.

import { useId, useState } from 'preact/hooks';

import { secondsOf, spanOf, UNIT_NAMES, type Span, type Unit } from '../span.ts';

/**
 * A span in seconds: never, which is 0, or so many of a unit; or nothing, where `absent` says what that means.
 * It begins with `value`. What is typed stays as it is typed, and is told only where it is a span.
 */
export function DurationField({
  label,
  absent,
  value,
  onValue,
}: {
  label: string;
  absent?: string;
  value: number | undefined;
  onValue: (seconds: number | undefined) => void;
}) {
  const id = useId();
  const [span, setSpan] = useState(spanOf(value));
  const [kind, setKind] = useState<'absent' | 'never' | 'span'>(
    value === undefined ? 'absent' : value === 0 ? 'never' : 'span',
  );
  const tell = (next: Span) => {
    setSpan(next);
    const seconds = secondsOf(next);
    if (seconds !== undefined) onValue(seconds);
  };
  const choose = (chosen: string) => {
    if (chosen === 'absent' || chosen === 'never') {
      setKind(chosen);
      onValue(chosen === 'never' ? 0 : undefined);
    } else {
      setKind('span');
      tell({ ...span, unit: chosen as Unit });
    }
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="joined">
        {kind === 'span' && (
          <input
            type="number"
            aria-label={`${label}, how many`}
            min={1}
            step={span.unit === 'seconds' ? 1 : 'any'}
            required
            value={span.amount}
            onInput={(event) => tell({ ...span, amount: event.currentTarget.value })}
          />
        )}
        <select
          id={id}
          value={kind === 'span' ? span.unit : kind}
          onChange={(event) => choose(event.currentTarget.value)}
        >
          {absent !== undefined && <option value="absent">{absent}</option>}
          <option value="never">never</option>
          {UNIT_NAMES.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}
