import Testing

@testable import CoherenceCore

/// The hooks of deletes that a class may override, by its own declaration and those of its superclasses.
@Suite struct DeclaredHooksTests {
  private class Base: ManagedObject {
    override class var deletionHooks: DeletionHooks { DeletionHooks(of: Base.self, overriding: .didSave) }
  }
  private class Middle: Base {
    override class var deletionHooks: DeletionHooks { DeletionHooks(of: Middle.self, overriding: []) }
  }
  private final class Last: Middle {
    override class var deletionHooks: DeletionHooks { DeletionHooks(of: Last.self, overriding: .validateForDelete) }
  }
  private class Silent: Base {}
  private final class UnderSilent: Silent {
    override class var deletionHooks: DeletionHooks { DeletionHooks(of: UnderSilent.self, overriding: []) }
  }

  @Test func `a class has the hooks that it and its superclasses declare`() {
    #expect(DeletionHooks.hooks(of: ManagedObject.self) == [])
    #expect(DeletionHooks.hooks(of: Base.self) == [.didSave])
    #expect(DeletionHooks.hooks(of: Middle.self) == [.didSave])
    #expect(DeletionHooks.hooks(of: Last.self) == [.didSave, .validateForDelete])
  }

  @Test func `a class without a declaration of its own, and each subclass, may have every hook`() {
    #expect(DeletionHooks.hooks(of: Silent.self) == .all)
    #expect(DeletionHooks.hooks(of: UnderSilent.self) == .all)
    #expect(DeletionHooks.Hooks.all == [.prepareForDeletion, .validateForDelete, .didSave])
  }
}
