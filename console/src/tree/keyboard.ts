// The lineage as a tree for the keyboard and for screen readers: what is open, where the focus is, what is typed ahead.

import {
  createTree,
  hotkeysCoreFeature,
  syncDataLoaderFeature,
  type FeatureImplementation,
  type TreeInstance,
} from '@headless-tree/core';

import type { LineageNode, Nodes } from './nodes.ts';

/** The tree wants a root that is not shown. */
const ROOT = 'root';

/** Milliseconds after which what is typed is the beginning of another name. */
const PAUSE = 700;

/** What a tree tells its view. */
export interface TreeEvents {
  /** What is shown is different now. */
  onChange: () => void;
  /** A node was chosen. */
  onChoose: (node: LineageNode) => void;
}

/** A lineage to move about in. */
export class KeyboardTree {
  readonly tree: TreeInstance<LineageNode>;
  #nodes: Nodes = new Map();
  #isBeingShown = false;

  constructor({ onChange, onChoose }: TreeEvents) {
    const change = () => this.#isBeingShown || onChange();
    const choose = { canRepeat: false, preventDefault: true, handler: () => onChoose(this.#focused()) };
    this.tree = createTree<LineageNode>({
      rootItemId: ROOT,
      // The library wants data of every node that it ever knew, also of one that has gone.
      dataLoader: {
        getItem: (id) => this.#nodes.get(id) ?? this.#first(),
        getChildren: (id) => (id === ROOT ? [this.#first().id] : (this.#nodes.get(id)?.children ?? [])),
      },
      getItemName: (item) => item.getItemData().name,
      isItemFolder: (item) => item.getItemData().children.length > 0,
      features: [syncDataLoaderFeature, hotkeysCoreFeature, typingAhead()],
      hotkeys: {
        // Without these the page would scroll as well.
        expandOrDown: { hotkey: 'ArrowRight', preventDefault: true },
        collapseOrUp: { hotkey: 'ArrowLeft', preventDefault: true },
        focusFirstItem: { hotkey: 'Home', preventDefault: true },
        focusLastItem: { hotkey: 'End', preventDefault: true },
        customChoose: { ...choose, hotkey: 'Enter' },
        customChooseBySpace: { ...choose, hotkey: 'Space' },
      },
      setState: change,
      setFocusedItem: change,
    });
  }

  /** Has these nodes from now on, for whoever is drawing it. What is new is open; what was closed stays closed. */
  show(nodes: Nodes) {
    this.#isBeingShown = true;
    const before = this.#nodes;
    this.#nodes = nodes;
    const { expandedItems, focusedItem } = this.tree.getState();
    const isOpen = new Set(expandedItems);
    const grew = ({ id, children }: LineageNode) => children.length > 0 && !before.get(id)?.children.length;
    const open = [...nodes.values()].filter((node) => isOpen.has(node.id) || grew(node)).map(({ id }) => id);
    this.tree.applySubStateUpdate('expandedItems', open);
    if (focusedItem !== null && !nodes.has(focusedItem)) this.tree.applySubStateUpdate('focusedItem', null);
    this.tree.rebuildTree();
    this.#isBeingShown = false;
  }

  /** Opens everything above a node, and lets the next press of a key begin there. */
  reveal(id: string) {
    const above: string[] = [];
    for (let node = this.#nodes.get(id); node?.parentId; node = this.#nodes.get(node.parentId))
      above.push(node.parentId);
    const { expandedItems } = this.tree.getState();
    this.tree.applySubStateUpdate('expandedItems', [...new Set([...expandedItems, ...above])]);
    this.tree.applySubStateUpdate('focusedItem', id);
    this.tree.rebuildTree();
  }

  /** Opens or closes a node. */
  toggle(id: string) {
    const item = this.tree.getItemInstance(id);
    if (item.isExpanded()) item.collapse();
    else item.expand();
  }

  #first(): LineageNode {
    const [first] = this.#nodes.values();
    if (!first) throw new Error('A lineage has at least one sandbox.');
    return first;
  }

  #focused(): LineageNode {
    return this.tree.getFocusedItem().getItemData();
  }
}

/** Letters and digits go to the next node whose name begins with what was typed. */
function typingAhead(): FeatureImplementation<LineageNode> {
  let typed = '';
  let at = 0;
  return {
    key: 'typing-ahead',
    hotkeys: {
      // The name of the hotkey is the library's, which has a search box for it.
      openSearch: {
        hotkey: 'LetterOrNumber',
        handler(event, tree) {
          typed = (event.timeStamp - at > PAUSE ? '' : typed) + event.key.toLowerCase();
          at = event.timeStamp;
          const items = tree.getItems();
          const from = tree.getFocusedItem().getItemMeta().index + (typed.length === 1 ? 1 : 0);
          const ahead = [...items.slice(from), ...items.slice(0, from)];
          const found = ahead.find((item) => item.getItemName().toLowerCase().startsWith(typed));
          found?.setFocused();
          if (found) tree.updateDomFocus();
        },
      },
    },
  };
}
