/// The entities that an optimistic change has touched, kept until it is sure or taken back.
// Sendable because it is touched under the store's lock only.
final class TentativeChange: @unchecked Sendable {
  struct Participant {
    let handle: Handle
    let revert: () -> Void
    let confirm: () -> Void
    let discard: (Node) -> Void
    /// The alias when it is not an entity.
    var alias: (any EditableAlias)?
  }

  /// There as long as somebody has the change, or it has entities.
  unowned let core: StoreCore
  private(set) var participants: [Participant] = [] {
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
    if wasOpen == participants.isEmpty {
      wasOpen ? core.optimistic.close(self) : core.optimistic.open(self)
    }
  }

  /// Keeps an entity. A second change of the same entity goes with the first.
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

  /// Another entity was removed.
  func discard(_ entity: Node) {
    for entry in participants where entry.handle.node !== entity { entry.discard(entity) }
  }

  // MARK: The end

  /// Takes everything back.
  func revert() {
    revertTemporarily()
    releaseParticipants()
  }

  /// Takes everything back in a transaction that will be undone.
  func revertTemporarily() {
    isEnding = true
    for entry in participants.reversed() { entry.revert() }
    isEnding = false
  }

  func confirm() {
    isEnding = true
    for entry in participants { entry.confirm() }
    isEnding = false
    releaseParticipants()
  }

  /// Takes everything back, because nobody can end the change any more; again, when a transaction undoes that.
  func abandon() {
    isAbandoned = true
    revert()
  }

  /// The change is over: nothing is kept any more.
  private func releaseParticipants() {
    guard !participants.isEmpty else { return }
    core.record { [self, participants] in
      self.participants = participants
      if isAbandoned { core.optimistic.addAbandoned(self) }
    }
    participants = []
  }
}
