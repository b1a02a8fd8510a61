// A field for a span of time.

import { useId, useState } from 'preact/hooks';

const UNITS = { seconds: 1, minutes: 60, hours: 3_600, days: 86_400 } as const;

type Unit = keyof typeof UNITS;

/** The largest unit that holds a span whole. */
function unitOf(seconds: number): Unit {
  const whole = (Object.keys(UNITS) as Unit[]).filter((unit) => seconds > 0 && seconds % UNITS[unit] === 0);
  return whole.at(-1) ?? 'days';
}

/** A span in seconds: never, which is 0, or so many of a unit; or nothing, where `absent` says what that means. */
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
  const [unit, setUnit] = useState(unitOf(value ?? 0));
  const kind = value === undefined ? 'absent' : value === 0 ? 'never' : unit;
  const choose = (chosen: string) => {
    if (chosen === 'absent') return onValue(undefined);
    if (chosen === 'never') return onValue(0);
    const next = chosen as Unit;
    onValue((value ? value / UNITS[unit] : 1) * UNITS[next]);
    setUnit(next);
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="joined">
        {value !== undefined && value !== 0 && (
          <input
            type="number"
            aria-label={`${label}, how many`}
            min={1}
            step="any"
            required
            value={value / UNITS[unit]}
            onInput={(event) =>
              onValue(Math.max(1, Math.round(event.currentTarget.valueAsNumber * UNITS[unit]) || 1))
            }
          />
        )}
        <select id={id} value={kind} onChange={(event) => choose(event.currentTarget.value)}>
          {absent !== undefined && <option value="absent">{absent}</option>}
          <option value="never">never</option>
          {(Object.keys(UNITS) as Unit[]).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}
