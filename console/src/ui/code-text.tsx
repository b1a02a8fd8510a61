// Texts of the Worker that contain code.

import { nameWorkspace } from './named-workspace.ts';

/** A text in which the parts between backticks are shown as code, and the workspace of the page has its name. */
export function CodeText({ of }: { of: string }) {
  const parts = nameWorkspace(of).split(/`([^`]+)`/);
  return <>{parts.map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>;
}
