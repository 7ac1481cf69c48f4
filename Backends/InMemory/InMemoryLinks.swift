import CoherenceCore
import HashTreeCollections

/// The links of one link table, found from both sides.
struct InMemoryLinks: Sendable {
  /// The links by source, then by target.
  private var bySource: TreeDictionary<Int64, TreeDictionary<Int64, Link>> = [:]
  /// The keys of the sources, by target.
  private var sourcesByTarget: TreeDictionary<Int64, TreeSet<Int64>> = [:]

  /// Whether a link connects the same ends.
  func contains(_ link: Link) -> Bool { contains(source: link.source, target: link.target) }

  /// Whether a link connects two records.
  func contains(source: Int64, target: Int64) -> Bool { bySource[source]?[target] != nil }

  /// The keys linked to a target.
  func sources(of target: Int64) -> TreeSet<Int64> { sourcesByTarget[target] ?? [] }

  /// The keys linked from a source, in no order.
  func targets(of source: Int64) -> some Sequence<Int64> { (bySource[source] ?? [:]).keys }

  /// The number of keys linked from a source.
  func targetCount(of source: Int64) -> Int { bySource[source]?.count ?? 0 }

  /// The links of a record, in no order.
  func links(of key: Int64, fromSource: Bool) -> [Link] {
    if fromSource { return bySource[key].map { Array($0.values) } ?? [] }
    return sources(of: key).compactMap { bySource[$0]?[key] }
  }

  /// The links of records: by key, then by position among the record's members, then by the member's key.
  func ordered(of keys: [Int64], fromSource: Bool) -> [Link] {
    Set(keys).sorted().flatMap { key in
      links(of: key, fromSource: fromSource).sorted { $0.precedes($1, fromSource: fromSource) }
    }
  }

  /// Adds a link, or gives its positions to an existing link.
  mutating func insert(_ link: Link) {
    var link = link
    if let existing = bySource[link.source]?[link.target] {
      link.sourcePosition = link.sourcePosition ?? existing.sourcePosition
      link.targetPosition = link.targetPosition ?? existing.targetPosition
    }
    bySource[link.source, default: [:]][link.target] = link
    sourcesByTarget[link.target, default: []].insert(link.source)
  }

  mutating func remove(source: Int64, target: Int64) {
    guard bySource[source]?[target] != nil else { return }
    bySource[source]?[target] = nil
    if bySource[source]?.isEmpty == true { bySource[source] = nil }
    sourcesByTarget[target]?.remove(source)
    if sourcesByTarget[target]?.isEmpty == true { sourcesByTarget[target] = nil }
  }
}

extension Link {
  /// Order among the links of one record: missing positions first, equal ones by the other side's key.
  fileprivate func precedes(_ other: Link, fromSource: Bool) -> Bool {
    let mine = fromSource ? sourcePosition : targetPosition
    let theirs = fromSource ? other.sourcePosition : other.targetPosition
    switch (mine, theirs) {
    case (nil, .some): return true
    case (.some, nil): return false
    case (let mine?, let theirs?) where mine != theirs: return mine < theirs
    default: return fromSource ? target < other.target : source < other.source
    }
  }
}
