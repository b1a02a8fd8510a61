// Texts of the document: paragraphs, lists and code.

/** A line with its code. */
export function Line({ text }: { text: string }) {
  const parts = text.split(/`([^`]+)`/);
  return <>{parts.map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}</>;
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

/** Writes the first letter of a word in upper case. */
export function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
