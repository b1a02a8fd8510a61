// Blocks of code.

import type { Example } from './examples.ts';

/** The examples of a call, of which the script of the page shows one language at a time. */
export function Examples({ examples, label }: { examples: Example[]; label: string }) {
  if (examples.length === 0) return null;
  return (
    <div class="code" role="group" aria-label={label}>
      <div class="bar">
        <div class="tabs">
          {examples.map(({ language, title }, index) => (
            <button key={language} type="button" data-language={language} aria-pressed={index === 0}>
              {title}
            </button>
          ))}
        </div>
        <Copy />
      </div>
      {examples.map(({ language, title, code }, index) => (
        <pre key={language} tabIndex={0} aria-label={title} data-language={language} hidden={index > 0}>
          {code}
        </pre>
      ))}
    </div>
  );
}

/** A value as indented JSON. */
export function Json({ value, title }: { value: unknown; title: string }) {
  return <Block text={JSON.stringify(value, null, 2)} title={title} />;
}

/** A block of code. */
export function Block({ text, title }: { text: string; title: string }) {
  return (
    <div class="code" role="group" aria-label={title}>
      <div class="bar">
        <span>{title}</span>
        <Copy />
      </div>
      <pre tabIndex={0} aria-label={title}>
        {text}
      </pre>
    </div>
  );
}

function Copy() {
  return (
    <button type="button" class="copy">
      Copy
    </button>
  );
}
