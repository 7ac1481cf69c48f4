/// The engine's side of an optimistic change: the nodes with effects of the change, retained until the change is
/// confirmed or reverted.
// Sendable because it is used under the store's lock only.
final class TentativeChange: @unchecked Sendable {
  /// A node with effects of the change, with closures in the place of its type.
  struct Participant {
    let handle: Handle
    let revert: () -> Void
    let confirm: () -> Void
    let discard: (Node) -> Void
    /// The node, if it is an alias.
    var alias: (any EditableAlias)?
  }

  /// Unowned: the program's object retains the core, and so do the handles of the participants.
  unowned let core: StoreCore
  private(set) var participants: [Participant] = [] {
    didSet { noteOpenness(wasOpen: !oldValue.isEmpty) }
  }
  /// Whether the change is being reverted or confirmed. Then it excludes no entities.
  private(set) var isEnding = false
  /// Whether the program's object was released, so that only the store can revert the change.
  private var isAbandoned = false

  init(core: StoreCore) {
    self.core = core
  }

  /// Adds the change to the open changes with its first participant, and removes it without participants.
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

  /// Adds a participant, unless the change has its node already.
  func add(_ participant: Participant) {
    guard !participants.contains(where: { $0.handle.node === participant.handle.node }) else { return }
    core.record { [self, participants] in self.participants = participants }
    participants.append(participant)
  }

  /// Removes an entity from the effects of the change.
  func discard(_ entity: Node) {
    for participant in participants where participant.handle.node !== entity { participant.discard(entity) }
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
    for participant in participants.reversed() { participant.revert() }
    isEnding = false
  }

  /// Confirms all effects and ends the change. Aliases are confirmed first: the removal of an entity drops the open
  /// edits of an alias that require the entity.
  func confirm() {
    isEnding = true
    confirmAliasEdits()
    for participant in participants where participant.alias == nil { participant.confirm() }
    isEnding = false
    releaseParticipants()
  }

  /// Confirms the edits of aliases alone.
  func confirmAliasEdits() { for participant in participants where participant.alias != nil { participant.confirm() } }

  /// Reverts the change after the release of the program's object; again when a rollback undoes the reversion.
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
