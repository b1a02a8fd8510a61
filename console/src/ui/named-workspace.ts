// The name of the workspace that the page is about, in texts of the Worker: they name its sandbox by an id.

import { signal } from '@preact/signals';

/** A workspace, as far as texts need it. */
interface NamedSandbox {
  name: string;
  sandboxId: string;
}

/** The workspace that the page is about; undefined if it is about another object. */
export const namedWorkspace = signal<NamedSandbox>();

/** Returns a text with the name of the workspace instead of the id of its sandbox. */
export function nameWorkspace(text: string): string {
  const known = namedWorkspace.value;
  return known ? text.replaceAll(`sandbox "${known.sandboxId}"`, `workspace "${known.name}"`) : text;
}
