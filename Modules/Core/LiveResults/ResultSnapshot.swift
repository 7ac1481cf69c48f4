import Synchronization

/// The records of a live result at one moment: their identifiers, in the order and range of the request.
///
/// May be used on any thread. A snapshot shares memory with the snapshots before and after it, so that keeping a
/// snapshot costs little. Reading an element costs a binary search among the list's chunks of some hundred records.
///
/// ```swift
/// for try await tracks in try context.values(of: FetchRequest(Track.self).sort(\.title)) {
///   print(tracks.count)
/// }
/// ```
public struct ResultSnapshot<Result: ManagedObject>: Sendable {
  let state: ResultState

  init(_ state: ResultState) { self.state = state }

  /// The sections of the records, in order; empty for a result without a section key path. Made at the first call, at a
  /// cost that grows with the number of sections.
  public var sections: [ResultSection] { state.sectionList }

  /// The identifiers as an array.
  public var ids: [ManagedObjectID] { state.visibleEntries.map(\.id) }

  /// The index of a record; `nil` for a record outside of the result. The cost grows with the number of records.
  public func index(of id: ManagedObjectID) -> Int? { state.index(of: id) }

  /// Returns the loaded objects of the records in a context, in the order of the result. Deleted records are left out.
  ///
  /// Called inside the context. Cost: objects without values are loaded together.
  ///
  /// - Throws: As ``ManagedObjectContext/objects(for:as:)``.
  public func objects(in context: ManagedObjectContext) throws -> [Result] {
    try context.objects(for: ids, as: Result.self)
  }

  /// Returns the objects of the records in a context as a collection that loads them by pages; see ``ObjectList``.
  ///
  /// Called inside the context. Reads no store: the first access to an element of a page is one statement.
  ///
  /// - Parameter batchSize: The number of records of a page, at least 1.
  /// - Throws: ``ErrorCode/invalidFetchRequest`` for a batch size below 1; ``ErrorCode/contextWithoutStore``.
  public func list(in context: ManagedObjectContext, batchSize: Int = 256) throws -> ObjectList<Result> {
    try context.list(of: state, as: Result.self, batchSize: batchSize)
  }
}

extension ResultSnapshot: RandomAccessCollection {
  /// Zero.
  public var startIndex: Int { 0 }
  /// The number of records.
  public var endIndex: Int { state.visible.count }
  /// The identifier of the record at an index. Costs a binary search.
  public subscript(position: Int) -> ManagedObjectID { state.entry(at: position).id }
}

extension ResultSnapshot: Equatable {
  /// Whether two snapshots have the same records in the same order and the same sections. The values of the records are
  /// not compared.
  public static func == (left: ResultSnapshot, right: ResultSnapshot) -> Bool {
    left.elementsEqual(right) && left.sections == right.sections
  }
}

/// Records of a live result with an equal value of the first sort key.
public struct ResultSection: Sendable, Hashable {
  /// The common value of the records, apart from differences that the sort key ignores.
  public let value: AttributeValue
  /// The indexes of the section's records in the result.
  public let range: Range<Int>

  /// Makes a section, to compare it with others.
  public init(value: AttributeValue, range: Range<Int>) {
    self.value = value
    self.range = range
  }

  /// The value as a text; empty for a missing value.
  public var name: String {
    switch value {
    case .null: ""
    case .bool(let value): "\(value)"
    case .int(let value): "\(value)"
    case .double(let value): "\(value)"
    case .string(let value): value
    case .data(let value): "\(value.count) bytes"
    case .date(let value): "\(value)"
    case .uuid(let value): "\(value)"
    case .decimal(let value): "\(value)"
    case .reference(let value): "\(value)"
    }
  }
  /// The number of the section's records.
  public var count: Int { range.count }
}

/// The entries of a live result at one moment, and the range of the request.
struct ResultState: Sendable {
  let entries: SortedEntries
  /// The range of visible entries.
  let visible: Range<Int>
  /// The sections of the visible entries; `nil` for a result without sections.
  let sections: SectionCounts?
  /// Whether the request has an offset or a limit.
  let isRange: Bool
  /// The number of entries before each chunk.
  private let starts: [Int]
  /// The sections, made on first use.
  private let madeSections = MadeOnce<[ResultSection]>()

  init(_ entries: SortedEntries, range: FetchRange, isRange: Bool, sections: SectionCounts?) {
    self.entries = entries
    self.isRange = isRange
    let lower = min(range.offset, entries.count)
    visible = lower..<(lower + min(range.limit ?? .max, entries.count - lower))
    starts = entries.starts
    if isRange, sections != nil {
      self.sections = SectionCounts(entries.entries(in: visible), order: entries.order)
    } else {
      self.sections = sections
    }
  }

  /// A state without entries, which precedes the first state.
  static func empty(like other: ResultState) -> ResultState {
    let entries = SortedEntries(order: other.entries.order)
    return ResultState(
      entries, range: FetchRange(offset: 0, limit: nil), isRange: other.isRange,
      sections: other.sections.map { _ in SectionCounts([], order: entries.order) })
  }

  func entry(at position: Int) -> ResultEntry {
    Misuse.check(
      position >= 0 && position < visible.count,
      "The result has no record at the index \(position); it has \(visible.count).")
    let index = visible.lowerBound + position
    let chunk = SortedEntries.partition(starts.count) { starts[$0] <= index } - 1
    return entries.chunks[chunk][index - starts[chunk]]
  }

  var visibleEntries: [ResultEntry] { entries.entries(in: visible) }

  /// The position of an entry of the list; `nil` outside of the visible range.
  func position(of entry: ResultEntry) -> Int? {
    let rank = entries.rank(of: entry, starts)
    return visible.contains(rank) ? rank - visible.lowerBound : nil
  }

  var sectionList: [ResultSection] {
    guard let sections else { return [] }
    return madeSections.value {
      var start = 0
      return sections.sections.map { section in
        defer { start += section.count }
        return ResultSection(value: section.value, range: start..<(start + section.count))
      }
    }
  }
}

extension ResultState: IdentifierSource {
  var count: Int { visible.count }
  func id(at index: Int) -> ManagedObjectID { entry(at: index).id }

  /// The cost grows with the number of records.
  func index(of id: ManagedObjectID) -> Int? {
    for (chunk, start) in zip(entries.chunks, starts) {
      guard let offset = chunk.firstIndex(where: { $0.id == id }) else { continue }
      let index = start + offset
      return visible.contains(index) ? index - visible.lowerBound : nil
    }
    return nil
  }
}

/// A value that the first reader makes. Copies of the owner share it.
private final class MadeOnce<Value: Sendable>: Sendable {
  private let made = Mutex<Value?>(nil)

  func value(_ make: () -> Value) -> Value {
    made.withLock { made in
      if let made { return made }
      let value = make()
      made = value
      return value
    }
  }
}
