/// Tentative changes of an entity, over its confirmed value.
final class EntityOverlay<T> {
  /// The confirmed value; `nil` when the entity exists by the changes alone.
  let base: T?
  /// The effects of the changes, in the order in which they were made.
  let patches: [Patch]
  /// Handles that retain the nested entities of the confirmed value for the time when it becomes visible again.
  let contents: [Handle]
  /// The last value of a removed entity, while a tentative change stores it again.
  let last: T?

  /// One effect of a change.
  struct Patch {
    let change: TentativeChange
    let effect: Effect

    /// Whether the value may contain further entities after the effect.
    var mayAddEntities: Bool {
      switch effect {
      case .change, .value, .nested: true
      case .removal, .without: false
      }
    }

    /// Whether the effect changes a value that exists before.
    var needsValue: Bool {
      switch effect {
      case .change, .without: true
      case .value, .nested, .removal: false
      }
    }

    /// Whether the effect is a closure, which may read the nested entities of the value.
    var isClosure: Bool { if case .change = effect { true } else { false } }

    /// Whether the effect stores an absent entity.
    var storesEntity: Bool {
      switch effect {
      case .value, .nested: true
      case .change, .removal, .without: false
      }
    }

    /// The tentatively removed entities that the effect removes from the value.
    private var excluded: [Node] { if case .without(let nodes) = effect { nodes } else { [] } }

    /// Whether the effect removes a tentatively removed entity from the value.
    func excludes(_ node: Node) -> Bool { excluded.contains { $0 === node } }

    /// How often the effect removes a tentatively removed entity from the value.
    func exclusionCount(of node: Node) -> Int { excluded.count { $0 === node } }

    /// The patch without a tentatively removed entity; `nil` when nothing is left of the patch.
    func including(_ node: Node) -> Patch? {
      guard excludes(node) else { return self }
      let others = excluded.filter { $0 !== node }
      return others.isEmpty ? nil : Patch(change: change, effect: .without(others))
    }

    /// The patch without excluded entities that are present; `nil` when nothing is left of the patch.
    var excludingAbsentEntities: Patch? {
      guard excluded.contains(where: { !$0.isAbsent }) else { return self }
      let absent = excluded.filter(\.isAbsent)
      return absent.isEmpty ? nil : Patch(change: change, effect: .without(absent))
    }

    /// Both patches as one, if they store values, or are removals from the value, by one change.
    fileprivate func joined(with next: Patch) -> Patch? {
      guard change === next.change else { return nil }
      // The later value replaces the earlier one.
      if case .value = effect, case .value = next.effect { return next }
      guard !excluded.isEmpty, !next.excluded.isEmpty else { return nil }
      return Patch(change: change, effect: .without(excluded + next.excluded))
    }
  }

  /// An effect on the value or on the existence of the entity.
  enum Effect {
    /// Changes the value by a closure, which is applied again to each confirmed value.
    case change((inout T) -> Void)
    /// Replaces the value, or stores an absent entity.
    case value(T)
    /// The value of an absent entity, stored as a nested entity of another.
    case nested(T)
    /// Removes the entity.
    case removal
    /// Removes tentatively removed entities from the value.
    case without([Node])
  }

  init(base: T?, patches: [Patch] = [], contents: [Handle] = [], last: T? = nil) {
    self.last = last
    self.base = base
    self.patches = patches
    self.contents = contents
  }

  /// Whether a change has an effect here.
  func hasPatches(of change: TentativeChange) -> Bool {
    patches.contains { $0.change === change }
  }

  /// The overlay with another effect.
  ///
  /// Removals of a list's entities are one patch, and so are stored values: each new effect applies all patches again,
  /// and a removal is a walk over the value.
  func adding(_ patch: Patch) -> EntityOverlay {
    var patches = patches
    if let joined = patches.last?.joined(with: patch) {
      patches[patches.count - 1] = joined
    } else {
      patches.append(patch)
    }
    return EntityOverlay(base: base, patches: patches, contents: contents, last: last)
  }

  /// The index of the effect that gives an entity without a confirmed value its value: that of the last change that
  /// stores the entity itself, or else the first that stores it as a nested entity.
  static func storingIndex(in patches: [Patch]) -> Int? {
    patches.lastIndex { if case .value = $0.effect { true } else { false } }
      ?? patches.firstIndex { if case .nested = $0.effect { true } else { false } }
  }

  /// The effects of the change that gives an entity without a confirmed value its value; `nil` if no other change has
  /// an effect on top of them.
  var storingPatches: [Patch]? {
    guard let index = Self.storingIndex(in: patches) else { return nil }
    let patches = patches[index...]
    let own = patches.filter { $0.change === self.patches[index].change }
    return own.count == patches.count ? nil : own
  }

  /// The overlay of an entity without a confirmed value, with another value in place of the effects of the change that
  /// gives the entity its value. Changes that store it as a nested entity too keep the new value.
  func storing(_ value: T) -> EntityOverlay {
    guard let index = Self.storingIndex(in: patches) else { return self }
    let change = patches[index].change
    let later = patches[index...].compactMap { patch -> Patch? in
      switch patch.effect {
      case .value: Patch(change: patch.change, effect: .value(value))
      case .nested: Patch(change: patch.change, effect: .nested(value))
      case .change: patch.change === change ? nil : patch
      case .removal, .without: patch
      }
    }
    return EntityOverlay(base: base, patches: Array(patches[..<index]) + later, contents: contents, last: last)
  }

  /// The overlay without the effects of a change.
  func without(_ change: TentativeChange) -> EntityOverlay {
    EntityOverlay(base: base, patches: patches.filter { $0.change !== change }, contents: contents, last: last)
  }
}

extension EntityNode {
  /// The tentative changes over the value.
  var overlay: EntityOverlay<T>? {
    relations?.overlay.map { unsafeDowncast($0, to: EntityOverlay<T>.self) }
  }

  /// Whether the entity exists by tentative changes alone.
  var isTentative: Bool {
    guard let overlay else { return false }
    return overlay.base == nil
  }

  /// Handles that retain the nested entities.
  var contents: [Handle] {
    relations?.children.map { Handle.of($0.child) } ?? []
  }
}

extension Node {
  /// Sets the tentative changes over the confirmed value.
  /// - Returns: The former changes. The caller retains them until the node is consistent.
  func setOverlay(_ overlay: AnyObject?) -> AnyObject? {
    let former = relations?.overlay
    if overlay != nil || former != nil { makeRelations().overlay = overlay }
    if overlay == nil { flags.remove(.overlaid) } else { flags.insert(.overlaid) }
    return former
  }
}
