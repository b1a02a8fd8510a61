// Fields of forms, each with its label.

import type { ComponentChildren, TargetedEvent } from 'preact';
import { useId } from 'preact/hooks';

import { useInvalid } from './invalid.tsx';

interface FieldProps {
  label: string;
  /** Help for filling in the field. */
  hint?: ComponentChildren;
}

interface TextProps extends FieldProps {
  value: string;
  onValue: (value: string) => void;
  type?: 'text' | 'password' | 'search' | 'number';
  required?: boolean;
  placeholder?: string;
  autocomplete?: string;
  min?: number;
  max?: number;
  /** The pattern of a valid value, and the error of another one. */
  pattern?: string;
  patternError?: string;
}

/** A line of text. */
export function TextField({ label, hint, value, onValue, type = 'text', patternError, ...rest }: TextProps) {
  const id = useId();
  const { error, attributes, check } = useInvalid(id, hint !== undefined, patternError);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type={type as 'text'} // Preact has a separate type for each input type.
        value={value}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => {
          check(currentTarget);
          onValue(currentTarget.value);
        }}
        {...attributes}
        {...rest}
      />
      {error}
      <Hint id={id} text={hint} />
    </div>
  );
}

/** Several lines of text. */
export function LinesField({ label, hint, value, onValue }: TextProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={3}
        value={value}
        spellcheck={false}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      <Hint id={id} text={hint} />
    </div>
  );
}

/** Optional fields in a collapsed section. It opens when one of them is invalid. */
export function MoreFields({ children }: { children: ComponentChildren }) {
  const open = (event: TargetedEvent<HTMLDetailsElement>) => {
    event.currentTarget.open = true;
  };
  return (
    <details onInvalidCapture={open}>
      <summary>More options</summary>
      {children}
    </details>
  );
}

/** A checkbox. */
export function TickField({
  label,
  hint,
  checked,
  onValue,
}: FieldProps & { checked: boolean; onValue: (checked: boolean) => void }) {
  const id = useId();
  return (
    <div class="field tick">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onValue(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      <Hint id={id} text={hint} />
    </div>
  );
}

/** A choice of one value. */
export function ChoiceField<V extends string>({
  label,
  hint,
  value,
  choices,
  required,
  onValue,
}: FieldProps & {
  value: V;
  choices: readonly (readonly [V, string])[];
  /** Whether the user must select a choice that is not empty. */
  required?: boolean;
  onValue: (value: V) => void;
}) {
  const id = useId();
  const { error, attributes, check } = useInvalid(id, hint !== undefined);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        required={required}
        {...attributes}
        onChange={(event) => {
          check(event.currentTarget);
          const chosen = choices.find(([name]) => name === event.currentTarget.value);
          if (chosen) onValue(chosen[0]);
        }}
      >
        {choices.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
      {error}
      <Hint id={id} text={hint} />
    </div>
  );
}

function Hint({ id, text }: { id: string; text: ComponentChildren }) {
  return text ? (
    <p class="hint" id={`${id}-hint`}>
      {text}
    </p>
  ) : null;
}
