// The texts that were edited and not saved, while the console is open.

import type { FileContent } from '../../../client/src/index.ts';
import type { Address } from '../routes.ts';

/** A text, and the content of the file from which it was edited. */
export interface Draft {
  base: FileContent;
  text: string;
}

const drafts = new Map<string, Draft>();

// The browser asks the user before it closes the page.
addEventListener('beforeunload', (event) => {
  if (drafts.size > 0) event.preventDefault();
});

const keyOf = (address: Address, path: string) => JSON.stringify([address.tenant, address.name, path]);

/** Returns the draft of a file. */
export function draftOf(address: Address, path: string): Draft | undefined {
  return drafts.get(keyOf(address, path));
}

/** Keeps the draft of a file, or removes it if the text is that of the file. */
export function keepDraft(address: Address, path: string, draft: Draft) {
  const key = keyOf(address, path);
  if (draft.text === draft.base.content) drafts.delete(key);
  else drafts.set(key, draft);
}
