import CoherenceCore

/// A reader, whose reads all see the content at its first read.
final class NotebookReader: StoreReader {
  private let store: NotebookStore
  private var snapshot: NotebookContent?

  init(store: NotebookStore) { self.store = store }

  /// Hands out all records of the entities: the predicate, the order and the range are left to Core.
  func fetch(_ query: StoreQuery) throws -> StoreFetch {
    let names = Set(query.entities.map(\.name))
    let keys = try notes(of: query.entity).filter { names.contains($0.value.entity) }.keys
    let cursor = NotebookCursor(reader: self, keys: keys.sorted(), root: query.entity.root)
    return StoreFetch(
      isPredicateExact: query.predicate == nil, isOrderExact: query.sortKeys.isEmpty, isRangeExact: false,
      cursor: cursor)
  }

  func row(_ key: Int64, of root: EntityDescription) throws -> Row? {
    guard let note = try content()[root, key] else { return nil }
    return try content().row(note, key: key, store.environment, store.spaces)
  }

  func rows(_ keys: [Int64], of root: EntityDescription) throws -> [Row] {
    try Set(keys).compactMap { try row($0, of: root) }
  }

  func links(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link] {
    let wanted = Set(keys)
    let all = try content().links[table.name, default: [:]].values
    // A missing position comes first, as the smallest number does.
    func order(_ link: Link) -> (Int64, Int64, Int64) {
      fromSource
        ? (link.source, link.sourcePosition ?? .min, link.target)
        : (link.target, link.targetPosition ?? .min, link.source)
    }
    return all.filter { wanted.contains(fromSource ? $0.source : $0.target) }.sorted { order($0) < order($1) }
  }

  func count(_ query: StoreQuery) throws -> Int? { nil }

  func finish() { snapshot = nil }

  private func notes(of entity: EntityDescription) throws -> [Int64: NotebookContent.Note] {
    try content().notes[entity.root.name, default: [:]]
  }

  private func content() throws -> NotebookContent {
    // Each call asks the store, because a reader must fail after its store is closed.
    let present = try store.content()
    if let snapshot { return snapshot }
    snapshot = present
    return present
  }
}

/// Reads the records of some keys, a few at a time.
final class NotebookCursor: RowCursor {
  private let reader: NotebookReader
  private var keys: ArraySlice<Int64>
  private let root: EntityDescription

  init(reader: NotebookReader, keys: [Int64], root: EntityDescription) {
    self.reader = reader
    self.keys = keys[...]
    self.root = root
  }

  func next(into rows: inout [Row]) throws -> Bool {
    guard !keys.isEmpty else { return false }
    rows += try keys.prefix(256).compactMap { try reader.row($0, of: root) }
    keys = keys.dropFirst(256)
    return true
  }

  func close() { keys = [] }
}
