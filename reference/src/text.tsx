// Texts of the document: paragraphs, lists and code.

import { Fragment } from 'preact';

/** A line with its code. */
export function Line({ text }: { text: string }) {
  const parts = text.split(/`([^`]+)`/);
  return <>{parts.map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}</>;
}

/** A text of several paragraphs, some of which may be lists. */
export function Text({ text }: { text: string }) {
  const paragraphs = text.split(/\n\n/);
  return (
    <>
      {paragraphs.map((paragraph, index) => {
        const lines = paragraph.split('\n');
        const isList = lines.every((line) => line.startsWith('- '));
        return isList ? (
          <ul key={index}>
            {lines.map((line) => (
              <li key={line}>
                <Line text={line.slice(2)} />
              </li>
            ))}
          </ul>
        ) : (
          <p key={index}>
            <Line text={lines.join(' ')} />
          </p>
        );
      })}
    </>
  );
}

/** A text within something else: its paragraphs one after the other. */
export function Inline({ text }: { text: string }) {
  return (
    <>
      {text.split(/\n+/).map((line, index) => (
        <Fragment key={index}>
          {index > 0 && <br />}
          <Line text={line.replace(/^- /, '– ')} />
        </Fragment>
      ))}
    </>
  );
}
