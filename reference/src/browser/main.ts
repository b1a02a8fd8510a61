// The script of the pages. The pages are complete without it, except for the search.

import { chooseLanguage, copyCode, showAddress } from './code.ts';
import { showNestedTypes } from './nested.ts';
import { followFormerLink } from './former-links.ts';
import { showRemediations } from './remediations.ts';
import { search } from './search.ts';
import { stored } from './storage.ts';

const theme = stored('snapshotter-theme');
if (theme) document.documentElement.dataset['theme'] = theme;

followFormerLink();
showAddress();
chooseLanguage();
copyCode();
showNestedTypes();
showRemediations();
search();
showCurrentPage();

/** On a narrow screen, the list of pages is a row that scrolls. */
function showCurrentPage() {
  const link = document.querySelector<HTMLElement>('nav [aria-current]');
  const list = link?.closest('nav > ul');
  if (link && list) list.scrollLeft = link.offsetLeft - list.clientWidth / 2;
}
