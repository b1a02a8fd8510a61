// The search: a text field with a list of results, by keyboard or pointer.

import { Finder } from './find.ts';
import { INDEX } from './index.ts';
import { loadFinder } from './load-finder.ts';
import { MOST, noteOf, optionOf, statusOf } from './results.ts';

/** Makes the field search. */
export function search(): void {
  const field = document.querySelector<HTMLInputElement>('#query');
  const found = document.querySelector<HTMLElement>('#found');
  const status = document.querySelector<HTMLElement>('#found-status');
  if (field && found && status) new Search(field, found, status);
}

class Search {
  readonly #field: HTMLInputElement;
  readonly #found: HTMLElement;
  readonly #note: HTMLElement;
  readonly #list: HTMLElement;
  readonly #status: HTMLElement;
  #selected = 0;
  #names: Finder | undefined;
  #loading: Promise<void> | undefined;
  #loaded: Finder | undefined;

  constructor(field: HTMLInputElement, found: HTMLElement, status: HTMLElement) {
    this.#field = field;
    this.#found = found;
    [this.#note, this.#list] = [...found.children] as [HTMLElement, HTMLElement];
    this.#status = status;
    field.addEventListener('input', () => this.#update());
    field.addEventListener('focus', () => this.#open());
    field.addEventListener('keydown', (event) => this.#onKey(event));
    this.#list.addEventListener('click', () => this.#close());
    document.addEventListener('pointerdown', ({ target }) => {
      if (!(target instanceof Element && target.closest('.search'))) this.#close();
    });
    field.addEventListener('blur', ({ relatedTarget }) => {
      if (!(relatedTarget instanceof Element && found.contains(relatedTarget))) this.#close();
    });
    document.addEventListener('keydown', (event) => focusOnSlash(event, field));
  }

  #open() {
    this.#update();
    this.#loading ??= loadFinder(INDEX).then((finder) => {
      this.#loaded = finder;
      if (document.activeElement !== this.#field) return;
      const selected = this.#selected;
      this.#update();
      this.#select(selected);
    });
  }

  /** Until the texts are loaded, names are found. */
  #update() {
    const query = this.#field.value;
    const isEmpty = query.trim() === '';
    const found = (this.#loaded ?? (this.#names ??= Finder.of(INDEX))).find(query);
    const note = isEmpty || !this.#loaded ? '' : noteOf(found, this.#loaded.isComplete);
    this.#list.replaceChildren(...found.results.slice(0, MOST).map(optionOf(found.terms)));
    this.#note.textContent = note;
    this.#note.hidden = note === '';
    this.#found.hidden = found.results.length === 0 && note === '';
    this.#list.hidden = found.results.length === 0;
    this.#field.ariaExpanded = String(found.results.length > 0);
    this.#status.textContent = isEmpty ? '' : `${note} ${statusOf(found)}`.trim();
    this.#select(0);
  }

  #select(index: number) {
    const options = [...this.#list.children] as HTMLElement[];
    this.#selected = Math.max(0, Math.min(index, options.length - 1));
    for (const [at, option] of options.entries()) option.ariaSelected = String(at === this.#selected);
    const selected = options[this.#selected];
    if (!selected) return this.#field.removeAttribute('aria-activedescendant');
    this.#field.setAttribute('aria-activedescendant', selected.id);
    selected.scrollIntoView({ block: 'nearest' });
  }

  #onKey(event: KeyboardEvent) {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    const step = steps[event.key];
    if (step !== undefined) this.#select(this.#selected + step);
    else if (event.key === 'Enter') (this.#list.children[this.#selected] as HTMLElement | undefined)?.click();
    else if (event.key === 'Escape' && !this.#found.hidden) this.#close();
    else return;
    event.preventDefault();
  }

  #close() {
    this.#found.hidden = true;
    this.#field.ariaExpanded = 'false';
    this.#field.removeAttribute('aria-activedescendant');
  }
}

function focusOnSlash(event: KeyboardEvent, field: HTMLInputElement): void {
  const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  field.focus();
  field.select();
}
