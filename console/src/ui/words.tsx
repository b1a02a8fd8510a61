// Texts of the Worker.

/** A text in which what stands between backticks is code. */
export function Words({ of }: { of: string }) {
  return <>{of.split(/`([^`]+)`/).map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>;
}
