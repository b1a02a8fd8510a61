// Blocks of code: their address, the language of the examples, and the buttons that copy.

import { withAddress } from '../address.ts';
import { store, stored } from './storage.ts';

const KEY = 'snapshotter-language';

/** Shows the examples in the language that the reader chose last, and changes it on request. */
export function chooseLanguage(): void {
  const chosen = stored(KEY);
  if (chosen !== undefined && chosen !== 'curl') {
    show(chosen);
    // The examples have other heights than before.
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }
  for (const button of document.querySelectorAll<HTMLElement>('.tabs button'))
    button.addEventListener('click', () => {
      const before = button.getBoundingClientRect().top;
      const language = button.dataset['language'] ?? '';
      show(language);
      store(KEY, language);
      scrollBy({ top: button.getBoundingClientRect().top - before, behavior: 'instant' });
    });
}

/** Shows a language in each block that has it. */
function show(language: string): void {
  for (const block of document.querySelectorAll('.code:has(.tabs)')) {
    const parts = [...block.querySelectorAll<HTMLElement>('[data-language]')];
    if (!parts.some((part) => part.dataset['language'] === language)) continue;
    for (const part of parts) {
      const isShown = part.dataset['language'] === language;
      if (part instanceof HTMLButtonElement) part.ariaPressed = String(isShown);
      else part.hidden = !isShown;
    }
  }
}

/** Shows the address of this Worker in the examples, so that they can be run as they are. */
export function showAddress(): void {
  for (const code of document.querySelectorAll('pre, .guide code')) {
    const text = withAddress(code.textContent, location.origin);
    if (text !== code.textContent) code.textContent = text;
  }
}

/** Makes each button copy the code of its block. A browser has no clipboard for pages over plain HTTP. */
export function copyCode(): void {
  if (!navigator.clipboard) return document.querySelectorAll('.copy').forEach((button) => button.remove());
  for (const button of document.querySelectorAll('.copy'))
    button.addEventListener('click', async () => {
      const code = button.closest('.code')?.querySelector('pre:not([hidden])')?.textContent ?? '';
      await navigator.clipboard.writeText(code);
      button.textContent = 'Copied';
      setTimeout(() => (button.textContent = 'Copy'), 1500);
    });
}
