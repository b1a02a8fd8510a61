// A field for a duration.

import { useId, useState } from 'preact/hooks';

import { secondsOf, spanOf, UNIT_NAMES, type Span, type Unit } from '../span.ts';
import { useInvalid } from './invalid.tsx';

/**
 * A field for a duration in seconds: an amount of a unit, or never, which is 0. If `absent` is set, it is the label of a choice
 * that gives undefined. `value` is only the initial value. The field keeps the text as typed, and calls `onValue` only with
 * valid durations.
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
  const { error, attributes, check } = useInvalid(id, false);
  const [span, setSpan] = useState(spanOf(value));
  const [kind, setKind] = useState<'absent' | 'never' | 'span'>(
    value === undefined ? 'absent' : value === 0 ? 'never' : 'span',
  );
  const change = (next: Span) => {
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
      change({ ...span, unit: chosen as Unit });
    }
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="joined">
        {kind === 'span' && (
          <input
            type="number"
            aria-label={`${label}, amount`}
            min={1}
            step={span.unit === 'seconds' ? 1 : 'any'}
            required
            value={span.amount}
            {...attributes}
            onInput={({ currentTarget }) => {
              check(currentTarget);
              change({ ...span, amount: currentTarget.value });
            }}
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
      {kind === 'span' && error}
    </div>
  );
}
