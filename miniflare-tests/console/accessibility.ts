// Checks of accessibility and layout.

import axe, { type AxeResults, type RunOptions } from 'axe-core';

import type { Tab } from './browser.ts';

/** An expression: the number of pixels by which the page is wider than the window. */
export const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

/** Returns the violations of the rules of WCAG 2.2 AA that a program can check. */
export async function violations(tab: Tab, options: RunOptions): Promise<string[]> {
  await tab.page.evaluate(axe.source);
  const results = await tab.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any }) => `${id}: ${html} ${any[0]?.message ?? ''}`),
  );
}
