/// The entities that an optimistic change has touched, kept until it is sure or taken back.
// Sendable because it is touched under the store's lock only.
final class TentativeChange: @unchecked Sendable {
  struct Entry {
    let handle: Handle
    let takeBack: () -> Void
    let confirm: () -> Void
    let forget: (Node) -> Void
    /// The alias when it is not an entity.
    var alias: (any EditableAlias)?
  }

  /// There as long as somebody has the change, or it has entities.
  unowned let core: StoreCore
  private(set) var list: [Entry] = [] {
    didSet { noteOpenness(wasOpen: !oldValue.isEmpty) }
  }
  /// It is being taken back or made sure, so it takes nothing out of anything any more.
  private(set) var isEnding = false
  /// Nobody has the change any more who could end it.
  private var isAbandoned = false

  init(core: StoreCore) {
    self.core = core
  }

  private func noteOpenness(wasOpen: Bool) {
    if wasOpen == list.isEmpty { wasOpen ? core.openChanges.removeAll { $0 === self } : core.openChanges.append(self) }
  }

  /// Keeps an entity. A second change of the same entity goes with the first.
  func keep<T: Identifiable & Sendable>(_ node: EntityNode<T>, _ table: EntityTable<T>) {
    keep(
      Entry(
        handle: .of(node), takeBack: { [unowned self] in table.takeBack(self, of: node) },
        confirm: { [unowned self] in table.confirm(self, of: node) }, forget: { node.forget($0) }))
  }

  func keep(_ entry: Entry) {
    guard !list.contains(where: { $0.handle.node === entry.handle.node }) else { return }
    core.record { [self, list] in self.list = list }
    list.append(entry)
  }

  /// Another entity was removed.
  func forget(_ entity: Node) {
    for entry in list where entry.handle.node !== entity { entry.forget(entity) }
  }

  // MARK: The end

  /// Takes everything back.
  func takeBack() {
    takeBackForNow()
    letGo()
  }

  /// Takes everything back in a transaction that will be undone.
  func takeBackForNow() {
    isEnding = true
    for entry in list.reversed() { entry.takeBack() }
    isEnding = false
  }

  func confirm() {
    isEnding = true
    for entry in list { entry.confirm() }
    isEnding = false
    letGo()
  }

  /// Takes everything back, because nobody can end the change any more; again, when a transaction undoes that.
  func abandon() {
    isAbandoned = true
    takeBack()
  }

  /// The change is over: nothing is kept any more.
  private func letGo() {
    guard !list.isEmpty else { return }
    core.record { [self, list] in
      self.list = list
      if isAbandoned { core.abandonedChanges.append(self) }
    }
    list = []
  }
}
