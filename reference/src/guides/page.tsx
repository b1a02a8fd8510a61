// The pages of the guides, and their list.

import { Markdown, type Resolve } from './markdown.tsx';
import { GUIDES_PATH, resolveFile, type ServedGuide } from './served.ts';

/** The content of the page of a guide. */
export function Guide({ of, guides }: { of: ServedGuide; guides: readonly ServedGuide[] }) {
  return (
    <article class="guide">
      <Markdown tokens={of.tokens} headings={of.headings} resolve={resolverOf(of.file, guides)} />
    </article>
  );
}

/** The content of the list of the guides. */
export function Guides({ guides }: { guides: readonly ServedGuide[] }) {
  const sections = [...new Set(guides.map(({ section }) => section))];
  return (
    <>
      <h1>Guides</h1>
      <p class="intro">How to use the snapshotter, in the order in which most people need it.</p>
      {sections.map((section) => (
        <section key={section}>
          <h2>{section}</h2>
          <dl class="contents guides">
            {guides
              .filter((guide) => guide.section === section)
              .map(({ path, title, description, headings }) => (
                <div key={path}>
                  <dt>
                    <a href={path}>{title}</a>
                  </dt>
                  <dd>{description || headingsOf(headings).join(', ')}</dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
    </>
  );
}

function headingsOf(headings: ServedGuide['headings']): string[] {
  return headings.filter(({ depth }) => depth === 2).map(({ title }) => title);
}

/** Returns where the links of a file lead. */
export function resolverOf(file: string, guides: readonly ServedGuide[]): Resolve {
  return (target) => {
    if (target.startsWith('#')) return target;
    const [path = '', anchor] = target.split('#');
    const found = resolveFile(file, path);
    const hash = anchor === undefined ? '' : `#${anchor}`;
    if (found === 'docs/README.md') return GUIDES_PATH;
    const guide = guides.find((each) => each.file === found);
    return guide && guide.path + hash;
  };
}
