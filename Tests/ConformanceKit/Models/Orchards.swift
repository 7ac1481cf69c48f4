import CoherenceCore
import Synchronization

/// A model of cascades over several levels, with classes that declare their hooks of deletes and classes that do not.
enum Orchards {
  static let model = soundModel {
    Entity("Orchard") {
      Attribute("name", .string)
      Relationship("trees", toMany: "Tree", inverse: "orchard", deleteRule: .cascade)
    }
    Entity("Tree", class: CountedTree.self) {
      Attribute("name", .string)
      Relationship("orchard", toOne: "Orchard", inverse: "trees")
      Relationship("leaves", toMany: "Leaf", inverse: "tree", ordered: true, deleteRule: .cascade)
      Relationship("fruits", toMany: "Fruit", inverse: "tree", deleteRule: .cascade)
      Relationship("nests", toMany: "Nest", inverse: "tree", deleteRule: .deny)
      Relationship("birds", toMany: "Bird", inverse: "tree")
      Relationship("gardener", toOne: "Gardener", inverse: "trees")
      Relationship("tags", toMany: "Mark", inverse: "trees")
      Relationship("twin", toOne: "Tree", inverse: "twinOf", deleteRule: .cascade)
      Relationship("twinOf", toOne: "Tree", inverse: "twin", deleteRule: .cascade)
    }
    Entity("Leaf", class: CountedLeaf.self) {
      Attribute("name", .string)
      Relationship("tree", toOne: "Tree", inverse: "leaves", optional: false)
    }
    Entity("Fruit", class: CountedFruit.self) {
      Attribute("name", .string)
      Relationship("tree", toOne: "Tree", inverse: "fruits")
    }
    Entity("Apple", class: CountedApple.self, parent: "Fruit") {}
    Entity("Pear", class: HookedPear.self, parent: "Fruit") {}
    Entity("Plum", class: UndeclaredPlum.self, parent: "Fruit") {}
    Entity("Nest") {
      Attribute("name", .string)
      Relationship("tree", toOne: "Tree", inverse: "nests")
    }
    Entity("Bird") {
      Attribute("name", .string)
      Relationship("tree", toOne: "Tree", inverse: "birds")
    }
    Entity("Gardener") {
      Attribute("name", .string)
      Relationship("trees", toMany: "Tree", inverse: "gardener")
    }
    Entity("Mark") {
      Attribute("name", .string)
      Relationship("trees", toMany: "Tree", inverse: "tags")
    }
    Entity("Trail") {
      Attribute("title", .string)
      Attribute("author", .string, optional: true)
    }
  }

  /// Saves an orchard with trees, and with the same number of leaves for each tree.
  static func plant(_ stack: ConformanceStack, trees: Int, leaves: Int, name: String = "orchard") throws {
    try stack.write { context in
      let orchard = try context.make("Orchard", ["name": name])
      for tree in 0..<trees {
        let planted = try context.make("Tree", ["name": "\(name) \(tree)"])
        try planted.setObject(orchard, for: "orchard")
        let grown = try (0..<leaves).map { try context.make("Leaf", ["name": "\(name) \(tree) \($0)"]) }
        try planted.setObjects(grown, for: "leaves")
      }
    }
  }
}

/// The objects made and the hooks called during a block.
final class ObjectCount: Sendable {
  @TaskLocal static var current: ObjectCount?

  private let made = Mutex<[String]>([])
  private let hooks = Mutex<[String]>([])

  static func note(_ object: String) { current?.made.withLock { $0.append(object) } }
  static func note(hook: String, of object: ManagedObject) { current?.hooks.withLock { $0.append(hook) } }

  /// Returns the entities of the objects that a block makes, and the hooks that it calls, both sorted.
  static func counting(_ body: () throws -> Void) rethrows -> (made: [String], hooks: [String]) {
    let count = ObjectCount()
    try $current.withValue(count, operation: body)
    return (count.made.withLock { $0.sorted() }, count.hooks.withLock { $0.sorted() })
  }
}

/// An object that counts its making, of a class without hooks.
final class CountedTree: ManagedObject {
  override class var deletionHooks: DeletionHooks { DeletionHooks(of: CountedTree.self, overriding: []) }

  required init(_ birth: borrowing ObjectBirth) {
    super.init(birth)
    ObjectCount.note("Tree")
  }
}

/// An object that counts its making, of a class without hooks.
final class CountedLeaf: ManagedObject {
  override class var deletionHooks: DeletionHooks { DeletionHooks(of: CountedLeaf.self, overriding: []) }

  required init(_ birth: borrowing ObjectBirth) {
    super.init(birth)
    ObjectCount.note("Leaf")
  }
}

/// A parent class without hooks.
class CountedFruit: ManagedObject {
  override class var deletionHooks: DeletionHooks { DeletionHooks(of: CountedFruit.self, overriding: []) }

  required init(_ birth: borrowing ObjectBirth) {
    super.init(birth)
    ObjectCount.note(entity.name)
  }
}

/// A subclass without hooks that declares so.
final class CountedApple: CountedFruit {
  override class var deletionHooks: DeletionHooks {
    DeletionHooks(of: CountedApple.self, overriding: [])
  }
}

/// A subclass that declares one hook.
final class HookedPear: CountedFruit {
  override class var deletionHooks: DeletionHooks {
    DeletionHooks(of: HookedPear.self, overriding: [.didSave])
  }

  override func didSave() { ObjectCount.note(hook: "didSave", of: self) }
}

/// A subclass that inherits the declaration of its parent, which is none of its own, and has hooks.
final class UndeclaredPlum: CountedFruit {
  override func prepareForDeletion() { ObjectCount.note(hook: "prepareForDeletion", of: self) }
  override func validateForDelete() throws { ObjectCount.note(hook: "validateForDelete", of: self) }
}
