/// The list of an alias that optimistic changes edit, by identifiers: confirmed entries, and edits in their order.
struct ListModel {
  enum Position {
    case first, last
    case before(Int), after(Int)
  }

  enum Edit {
    case insert([Int], Position)
    case remove(Int)
    case replace(Int, Int)
    case stand([Int])
    case nothing
  }

  struct Patch {
    let change: Int
    var edit: Edit
    var isConfirmed = false
  }

  var base: [Int]?
  var patches: [Patch] = []

  var shown: [Int]? { list { _ in true } }
  var confirmed: [Int]? { list(where: \.isConfirmed) }

  private func list(where isApplied: (Patch) -> Bool) -> [Int]? {
    patches.filter(isApplied).reduce(base) { Self.apply($1.edit, to: $0) }
  }

  static func apply(_ edit: Edit, to list: [Int]?) -> [Int]? {
    switch edit {
    case .insert(let ids, let position):
      var edited = list ?? []
      let new = ids.reduce(into: [Int]()) { if !edited.contains($1), !$0.contains($1) { $0.append($1) } }
      edited.insert(contentsOf: new, at: index(of: position, in: edited))
      return edited
    case .remove(let id): return list?.filter { $0 != id }
    case .replace(let id, let other):
      guard let list, list.contains(id), id != other else { return list }
      if list.contains(other) { return list.filter { $0 != id } }
      var isFirst = true
      return list.compactMap { entry in
        guard entry == id else { return entry }
        defer { isFirst = false }
        return isFirst ? other : nil
      }
    case .stand(let ids): return ids
    case .nothing: return nil
    }
  }

  private static func index(of position: Position, in list: [Int]) -> Int {
    switch position {
    case .first: 0
    case .last: list.count
    case .before(let id): list.firstIndex(of: id) ?? 0
    case .after(let id): list.firstIndex(of: id).map { $0 + 1 } ?? list.count
    }
  }

  /// Moves confirmed edits into the base unless an open edit precedes them.
  mutating func settle() {
    while let first = patches.first, first.isConfirmed {
      base = Self.apply(first.edit, to: base)
      patches.removeFirst()
    }
  }

  mutating func replaceBase(by list: [Int]) {
    base = list
    patches.removeAll { $0.isConfirmed }
  }

  mutating func append(_ ids: [Int]) {
    let known = confirmed
    let new = ids.reduce(into: [Int]()) { if known?.contains($1) != true, !$0.contains($1) { $0.append($1) } }
    guard known == nil || !new.isEmpty else { return }
    guard let last = patches.lastIndex(where: \.isConfirmed) else { return base = (base ?? []) + new }
    switch patches[last].edit {
    case .stand(let ids): patches[last].edit = .stand(ids + new)
    case .insert(let ids, .last): patches[last].edit = .insert(ids + new, .last)
    default:
      let page = Patch(change: patches[last].change, edit: .insert(new, .last), isConfirmed: true)
      patches.insert(page, at: last + 1)
    }
  }

  mutating func takeBack(_ change: Int) {
    patches.removeAll { $0.change == change && !$0.isConfirmed }
    settle()
  }

  mutating func confirm(_ change: Int) {
    for index in patches.indices where patches[index].change == change { patches[index].isConfirmed = true }
    settle()
  }

  /// An entity is gone: no edit brings it back.
  mutating func forget(_ id: Int) {
    base?.removeAll { $0 == id }
    patches = patches.compactMap { patch in
      Self.without(id, patch).map { Patch(change: patch.change, edit: $0, isConfirmed: patch.isConfirmed) }
    }
    settle()
  }

  private static func without(_ id: Int, _ patch: Patch) -> Edit? {
    switch patch.edit {
    case .insert(let ids, let position):
      let left = ids.filter { $0 != id }
      return left.isEmpty && !ids.isEmpty ? nil : .insert(left, position)
    case .remove(let removed): return removed == id ? nil : patch.edit
    case .replace(let entry, let other):
      if entry == id { return nil }
      return other != id ? patch.edit : patch.isConfirmed ? .remove(entry) : nil
    case .stand(let ids):
      let left = ids.filter { $0 != id }
      return left.isEmpty && !ids.isEmpty && !patch.isConfirmed ? nil : .stand(left)
    case .nothing: return .nothing
    }
  }

  /// Whether an open edit of a change inserts an entity. Otherwise the change's result takes no entry.
  func inserts(_ id: Int, by change: Int) -> Bool {
    patches.contains { patch in
      guard patch.change == change, !patch.isConfirmed, case .insert(let ids, _) = patch.edit else { return false }
      return ids.contains(id)
    }
  }

  /// A server's identifier takes the place of a temporary one.
  mutating func substitute(_ id: Int, by other: Int) {
    func named(_ given: Int) -> Int { given == id ? other : given }
    func all(_ given: [Int]) -> [Int] { given.contains(other) ? given.filter { $0 != id } : given.map(named) }
    for index in patches.indices {
      switch patches[index].edit {
      case .insert(let ids, .before(let anchor)): patches[index].edit = .insert(all(ids), .before(named(anchor)))
      case .insert(let ids, .after(let anchor)): patches[index].edit = .insert(all(ids), .after(named(anchor)))
      case .insert(let ids, let position): patches[index].edit = .insert(all(ids), position)
      case .remove(let entry): patches[index].edit = .remove(named(entry))
      case .replace(let entry, let new): patches[index].edit = .replace(named(entry), named(new))
      case .stand(let ids): patches[index].edit = .stand(all(ids))
      case .nothing: break
      }
    }
  }
}
