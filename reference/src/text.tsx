// Texts of the document: paragraphs, lists and code.

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

/** The anchors of the operations, by their names. */
export const Links = createContext(new Map<string, string>());

/** A line with its code. The name of an operation is a link to it. */
export function Line({ text }: { text: string }) {
  const links = useContext(Links);
  const parts = text.split(/`([^`]+)`/);
  const code = (part: string, index: number) => {
    const href = links.get(part);
    const content = <code key={index}>{part}</code>;
    return href ? (
      <a key={index} href={href}>
        {content}
      </a>
    ) : (
      content
    );
  };
  return <>{parts.map((part, index) => (index % 2 ? code(part, index) : part))}</>;
}

/** A text of paragraphs and lists. */
export function Text({ text }: { text: string }) {
  const paragraphs = text.split('\n\n').map((paragraph) => paragraph.split('\n'));
  return (
    <>
      {paragraphs.map((lines, index) =>
        lines.every((line) => line.startsWith('- ')) ? (
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
        ),
      )}
    </>
  );
}
