// Texts of the Worker that contain code.

/** A text in which the parts between backticks are shown as code. */
export function CodeText({ of }: { of: string }) {
  return <>{of.split(/`([^`]+)`/).map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>;
}
