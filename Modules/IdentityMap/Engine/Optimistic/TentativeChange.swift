/// The engine's side of an optimistic change: the nodes that the change has touched, kept until it is confirmed or
/// reverted.
// Sendable because it is touched under the store's lock only.
final class TentativeChange: @unchecked Sendable {
  struct Participant {
    let handle: Handle
    let revert: () -> Void
    let confirm: () -> Void
    let discard: (Node) -> Void
    /// The node, if it is an alias.
    var alias: (any EditableAlias)?
  }

  /// Unowned: the user's change retains the core, and so do the handles of the participants.
  unowned let core: StoreCore
  private(set) var participants: [Participant] = [] {
    didSet { noteOpenness(wasOpen: !oldValue.isEmpty) }
  }
  /// Whether the change is being reverted or confirmed. Then it excludes no entities.
  private(set) var isEnding = false
  /// Whether the user's change was released, so that only the store can revert this one.
  private var isAbandoned = false

  init(core: StoreCore) {
    self.core = core
  }

  private func noteOpenness(wasOpen: Bool) {
    if wasOpen == participants.isEmpty {
      wasOpen ? core.optimistic.close(self) : core.optimistic.open(self)
    }
  }

  /// Adds an entity. It is added once, however many changes it has.
  func add<T: Identifiable & Sendable>(_ node: EntityNode<T>, _ table: EntityTable<T>) {
    add(
      Participant(
        handle: .of(node), revert: { [unowned self] in table.revert(self, of: node) },
        confirm: { [unowned self] in table.confirm(self, of: node) }, discard: { node.discard($0) }))
  }

  func add(_ entry: Participant) {
    guard !participants.contains(where: { $0.handle.node === entry.handle.node }) else { return }
    core.record { [self, participants] in self.participants = participants }
    participants.append(entry)
  }

  /// Removes an entity from the effects of the change.
  func discard(_ entity: Node) {
    for entry in participants where entry.handle.node !== entity { entry.discard(entity) }
  }

  // MARK: The end

  /// Reverts all effects and ends the change.
  func revert() {
    revertTemporarily()
    releaseParticipants()
  }

  /// Reverts all effects, in a transaction with a rollback at its end.
  func revertTemporarily() {
    isEnding = true
    for entry in participants.reversed() { entry.revert() }
    isEnding = false
  }

  /// Confirms all effects and ends the change. Aliases are confirmed first: the removal of an entity drops the open edits
  /// of an alias that need the entity.
  func confirm() {
    isEnding = true
    confirmAliasEdits()
    for entry in participants where entry.alias == nil { entry.confirm() }
    isEnding = false
    releaseParticipants()
  }

  func confirmAliasEdits() { for entry in participants where entry.alias != nil { entry.confirm() } }

  /// Reverts the change after the release of the user's object; again when a rollback undoes the reversion.
  func abandon() {
    isAbandoned = true
    revert()
  }

  /// Ends the change and releases its nodes.
  private func releaseParticipants() {
    guard !participants.isEmpty else { return }
    core.record { [self, participants] in
      self.participants = participants
      if isAbandoned { core.optimistic.addAbandoned(self) }
    }
    participants = []
  }
}
