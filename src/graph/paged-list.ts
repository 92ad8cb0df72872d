/** A page is copied whole for one change in it: small enough for that, large enough that thousands of nodes are few pages. */
const PAGE_BITS = 7;
const PAGE_SIZE = 1 << PAGE_BITS;

type Page<T> = readonly (T | undefined)[];

/**
 * A persistent array. Reading costs two plain array accesses, and a commit copies the pages that it writes to and shares
 * the rest; a tree of 32-wide nodes, as general-purpose lists are, is several times slower for both.
 */
export class PagedList<T> {
  private constructor(
    private readonly pages: readonly Page<T>[],
    /** One more than the largest index that was ever written. */
    readonly size: number,
  ) {}

  static empty<T>(): PagedList<T> {
    return new PagedList<T>([], 0);
  }

  get(index: number): T | undefined {
    return this.pages[index >> PAGE_BITS]?.[index & (PAGE_SIZE - 1)];
  }

  count(matches: (entry: T | undefined) => boolean): number {
    return this.pages.reduce((sum, page) => sum + page.filter(matches).length, 0);
  }

  /** The list with these entries in the place of those that were there. */
  with(entries: Iterable<readonly [index: number, entry: T | undefined]>): PagedList<T> {
    const pages = [...this.pages];
    const own = new Map<number, (T | undefined)[]>();
    let { size } = this;
    for (const [index, entry] of entries) {
      const at = index >> PAGE_BITS;
      let page = own.get(at);
      if (page === undefined) {
        while (pages.length <= at) pages.push(new Array<T | undefined>(PAGE_SIZE).fill(undefined));
        page = [...(pages[at] ?? [])];
        own.set(at, page);
        pages[at] = page;
      }
      page[index & (PAGE_SIZE - 1)] = entry;
      size = Math.max(size, index + 1);
    }
    return new PagedList(pages, size);
  }
}
