/// The confirmation of one change on one entity. It receives the patches of all changes in their order, and makes the
/// overlay that remains.
///
/// The patches of other changes stay tentative. Each patch of the confirmed change ends in one of three places:
/// - in the confirmed value, if the entity has one, or if the patch stores the entity;
/// - in the open changes that store the entity, if the patch changes an entity without a confirmed value: the patch
///   then ends with these changes;
/// - nowhere, if a later patch of the confirmed change removes the entity: a confirmed removal ends the confirmed value
///   and all patches before the removal, and a later patch that stores the entity begins anew.
struct OverlayConfirmation<T: Identifiable & Sendable> {
  private typealias Patch = EntityOverlay<T>.Patch

  private let change: TentativeChange
  private let table: EntityTable<T>
  private let hadConfirmedValue: Bool
  /// The confirmed value after the patches so far; `nil` when the entity exists by open changes alone, or not at all.
  private(set) var base: T?
  /// Handles to the nested entities of the former confirmed value; none after a removal.
  private(set) var contents: [Handle]
  /// Whether a patch of the change has removed the entity.
  private(set) var isRemoved = false
  /// The last value of a removed entity; see ``EntityOverlay/last``.
  private var last: T?
  /// The patches of open changes, with the confirmed patches that became parts of them.
  private var patches: [Patch] = []
  /// The value after the patches of all changes so far. It is only kept while the entity has no confirmed value.
  private var tentativeValue: T?
  /// Whether the confirmed patches need the value of another change: from the first patch on that changes an entity
  /// without a confirmed value.
  private var needsOtherChange = false

  init(of change: TentativeChange, in overlay: EntityOverlay<T>, _ table: EntityTable<T>) {
    self.change = change
    self.table = table
    hadConfirmedValue = overlay.base != nil
    base = overlay.base
    contents = overlay.contents
    last = overlay.last
  }

  /// Whether the entity ends with the change: the change removes the entity, and no later patch stores it.
  var removesEntity: Bool { isRemoved && base == nil && !patches.contains(where: \.storesEntity) }

  /// The overlay that remains.
  /// - Parameter confirmed: Handles to the nested entities of ``base``; `nil` without a confirmed value.
  func overlay(with confirmed: [Handle]?) -> EntityOverlay<T> {
    guard let confirmed else { return EntityOverlay(base: nil, patches: patches, contents: contents, last: last) }
    return EntityOverlay(base: base, patches: patches, contents: confirmed)
  }

  /// Adds the next patch of any change.
  mutating func add(_ patch: EntityOverlay<T>.Patch) {
    let isPresent = applyTentatively(patch)
    guard patch.change === change else { return patches.append(patch) }
    if base == nil, patch.needsValue { needsOtherChange = true }
    if needsOtherChange, isPresent, attach(patch.effect) { return }
    if !table.apply(patch.effect, to: &base) { removeEntity() }
  }

  /// Applies a patch to ``tentativeValue``.
  /// - Returns: Whether the entity exists by open changes alone after the patch.
  private mutating func applyTentatively(_ patch: EntityOverlay<T>.Patch) -> Bool {
    guard !hadConfirmedValue || isRemoved else { return false }
    return table.apply(patch.effect, to: &tentativeValue)
  }

  /// Makes a confirmed effect a part of the open changes that store the entity: of the change that gives the entity
  /// its value, and of the values that the other changes store. After the rollback of one of these changes, the entity
  /// has the value of another, with the effect.
  ///
  /// An open change that only updates the entity does not get the effect, because it can be rolled back alone.
  /// - Returns: Whether an open change stores the entity.
  private mutating func attach(_ effect: EntityOverlay<T>.Effect) -> Bool {
    guard let storing = EntityOverlay<T>.storingIndex(in: patches) else { return false }
    let attached = Patch(change: patches[storing].change, effect: effect)
    // The removal of a nested entity removes it from the stored values itself.
    if case .without = effect {
      patches.append(attached)
      return true
    }
    let isFollowed = patches[(storing + 1)...].contains { !$0.storesEntity }
    for index in patches.indices where index != storing || !isFollowed { applyToStoredValue(effect, at: index) }
    // The effect stays behind the updates of open changes. Without such updates it is a part of the stored value, so
    // that the number of patches does not grow with the confirmed updates.
    if isFollowed { patches.append(attached) }
    return true
  }

  /// Applies an effect to the value that a patch stores.
  private mutating func applyToStoredValue(_ effect: EntityOverlay<T>.Effect, at index: Int) {
    let patch = patches[index]
    switch patch.effect {
    case .value(let value): patches[index] = Patch(change: patch.change, effect: .value(applied(effect, to: value)))
    case .nested(let value): patches[index] = Patch(change: patch.change, effect: .nested(applied(effect, to: value)))
    case .change, .removal, .without: break
    }
  }

  private func applied(_ effect: EntityOverlay<T>.Effect, to value: T) -> T {
    var changed: T? = value
    _ = table.apply(effect, to: &changed)
    return changed ?? value
  }

  /// Removes the entity, and ends the effects so far.
  private mutating func removeEntity() {
    if table.core.graph.keepsRemoved { last = base ?? last }
    (base, tentativeValue, patches, contents) = (nil, nil, [], [])
    (isRemoved, needsOtherChange) = (true, false)
  }
}
