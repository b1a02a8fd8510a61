// The pages of the guides, and their list.

import { Markdown, type Resolve } from './markdown.tsx';
import { GUIDES_PATH, resolveFile, type ServedGuide } from './served.ts';

interface GuideProps {
  of: ServedGuide;
  guides: readonly ServedGuide[];
  /** The names of the groups of operations. */
  groups: readonly string[];
}

/** The content of the page of a guide. */
export function Guide({ of, guides, groups }: GuideProps) {
  return (
    <article class="guide">
      <Markdown tokens={of.tokens} headings={of.headings} resolve={resolverOf(of, guides, groups)} />
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

/** Returns where the links of a guide lead. The types of the client are those of the reference. */
function resolverOf(
  { file, path: own }: ServedGuide,
  guides: readonly ServedGuide[],
  groups: readonly string[],
): Resolve {
  return (target) => {
    if (target.startsWith('#')) return target;
    const [path = '', anchor] = target.split('#');
    const found = resolveFile(file, path);
    const hash = anchor === undefined ? '' : `#${anchor}`;
    if (found === 'docs/README.md') return GUIDES_PATH;
    if (found === 'client/src/types.ts') {
      const group = own.slice(GUIDES_PATH.length + 1);
      return groups.includes(group) ? `/docs/${group}#types` : '/docs';
    }
    const guide = guides.find((each) => each.file === found);
    return guide && guide.path + hash;
  };
}
