// Markdown as the elements of a page.

import type { Tokens } from 'marked';
import type { ComponentChildren } from 'preact';

import { LOCAL_ADDRESS } from '../address.ts';
import { Block } from '../code.tsx';
import type { Heading } from './served.ts';
import { plainText } from './text.ts';

/** Returns where a link leads on the served pages; undefined if that is none of them. */
export type Resolve = (target: string) => string | undefined;

interface MarkdownProps {
  tokens: readonly Tokens.Generic[];
  /** The headings, in their order. */
  headings: readonly Heading[];
  resolve: Resolve;
}

/** A text with its headings. */
export function Markdown({ tokens, headings, resolve }: MarkdownProps) {
  const ids = headings[Symbol.iterator]();
  return (
    <>
      {tokens.map((token, index) =>
        token.type === 'heading' ? (
          <Title key={index} of={ids.next().value}>
            {inline(token.tokens ?? [], resolve)}
          </Title>
        ) : (
          block(token, index, resolve)
        ),
      )}
    </>
  );
}

function Title({ of, children }: { of: Heading | undefined; children: ComponentChildren }) {
  if (of === undefined || of.depth === 1) return <h1 id={of?.id}>{children}</h1>;
  const Name = of.depth === 2 ? 'h2' : 'h3';
  return (
    <Name id={of.id}>
      <a href={`#${of.id}`}>{children}</a>
    </Name>
  );
}

function block(token: Tokens.Generic, key: number, resolve: Resolve): ComponentChildren {
  const content = () => inline(token.tokens ?? [], resolve);
  switch (token.type) {
    case 'paragraph':
      return isImage(token) ? null : <p key={key}>{content()}</p>;
    case 'text':
      return token.tokens ? content() : String(token['text']);
    case 'code':
      return <Block key={key} text={String(token['text'])} title={LANGUAGES[token['lang']] ?? 'Output'} />;
    case 'list':
      return list(token as Tokens.List, key, resolve);
    case 'table':
      return table(token as Tokens.Table, key, resolve);
    case 'blockquote':
      return <blockquote key={key}>{blocks(token.tokens ?? [], resolve)}</blockquote>;
    case 'space':
    case 'checkbox':
    case 'html': // Comments, and images with a width.
      return null;
    default:
      throw new Error(`A guide has Markdown that the pages do not show: ${token.type}`);
  }
}

/** The titles of blocks of code. A block without a language is what a program prints. */
const LANGUAGES: Record<string, string> = {
  ts: 'TypeScript',
  tsx: 'TypeScript',
  js: 'JavaScript',
  rust: 'Rust',
  sh: 'Shell',
  toml: 'TOML',
  json: 'JSON',
  jsonc: 'JSON',
  sql: 'SQL',
  python: 'Python',
  dockerfile: 'Dockerfile',
  yaml: 'YAML',
};

function blocks(tokens: readonly Tokens.Generic[], resolve: Resolve): ComponentChildren {
  return tokens.map((token, index) => block(token, index, resolve));
}

function list({ ordered, items }: Tokens.List, key: number, resolve: Resolve) {
  const children = items.map(({ tokens }, index) => <li key={index}>{blocks(tokens, resolve)}</li>);
  return ordered ? <ol key={key}>{children}</ol> : <ul key={key}>{children}</ul>;
}

function table({ header, rows }: Tokens.Table, key: number, resolve: Resolve) {
  return (
    <div key={key} class="table" role="group" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, index) => (
              <th key={index} scope="col">
                {inline(tokens, resolve)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map(({ tokens }, index) => (
                <td key={index}>{inline(tokens, resolve)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Tokens.Generic[], resolve: Resolve): ComponentChildren {
  return tokens.map((token, index) => {
    const content = () => inline(token.tokens ?? [], resolve);
    switch (token.type) {
      case 'text':
        return token.tokens ? content() : String(token['text']);
      case 'escape':
        return String(token['text']);
      case 'codespan':
        return <code key={index}>{token['text']}</code>;
      case 'strong':
        return <strong key={index}>{content()}</strong>;
      case 'em':
        return <em key={index}>{content()}</em>;
      case 'link':
        return link(token as Tokens.Link, index, resolve);
      case 'br':
        return <br key={index} />;
      case 'image':
      case 'html':
        return null;
      default:
        throw new Error(`A guide has Markdown that the pages do not show: ${token.type}`);
    }
  });
}

/** A link. One to the Worker leads to the one that serves the page. In place of one to a file that is not served, the text names the file. */
function link({ href, tokens }: Tokens.Link, key: number, resolve: Resolve) {
  const content = inline(tokens, resolve);
  const own = href.startsWith(LOCAL_ADDRESS) ? href.slice(LOCAL_ADDRESS.length) || '/' : undefined;
  const target = own ?? (/^https?:/.test(href) ? href : resolve(href));
  if (target !== undefined)
    return (
      <a key={key} href={target}>
        {content}
      </a>
    );
  const file = href.replace(/^(\.\.?\/)+/, '').replace(/#.*$/, '');
  if (plainText(tokens).includes(file)) return content;
  return (
    <>
      {content} (<code>{file}</code>)
    </>
  );
}

function isImage({ tokens = [] }: Tokens.Generic): boolean {
  return tokens.every(({ type, raw }) => type === 'image' || raw.trim() === '');
}
