/// Changes of an entity that are not sure yet, over the value that is.
final class Overlay<T> {
  /// The sure value; `nil` when there is none without the changes.
  let base: T?
  /// In the order in which they were made.
  let patches: [Patch]
  /// What is in the sure value, kept so that it is still there when it is shown again.
  let contents: [Handle]

  struct Patch {
    let change: OptimisticEntries
    let effect: Effect

    /// Whether there can be entities in the value then that there were not.
    var bringsEntities: Bool {
      switch effect {
      case .change, .value, .brought: true
      case .removal, .without: false
      }
    }
  }

  enum Effect {
    /// Other fields.
    case change((inout T) -> Void)
    /// Another value, also when there was none.
    case value(T)
    /// The value when there is none, of an entity that came along in another.
    case brought(T)
    /// None any more.
    case removal
    /// Another entity is taken out, which is removed for the time being.
    case without(Node)
  }

  init(base: T?, patches: [Patch] = [], contents: [Handle] = []) {
    self.base = base
    self.patches = patches
    self.contents = contents
  }

  /// Whether there is something that a change did.
  func hasPatches(of change: OptimisticEntries) -> Bool {
    patches.contains { $0.change === change }
  }

  /// The same without what a change did.
  func without(_ change: OptimisticEntries) -> Overlay {
    Overlay(base: base, patches: patches.filter { $0.change !== change }, contents: contents)
  }
}

extension EntityNode {
  /// The changes over the value that are not sure.
  var overlay: Overlay<T>? {
    relations?.overlay.map { unsafeDowncast($0, to: Overlay<T>.self) }
  }

  /// Whether there is such an entity by what is not sure alone.
  var isUnsure: Bool {
    guard let overlay else { return false }
    return overlay.base == nil
  }

  /// Keep what is in the value.
  var contents: [Handle] {
    relations?.children.map { Handle.of($0.child) } ?? []
  }
}
