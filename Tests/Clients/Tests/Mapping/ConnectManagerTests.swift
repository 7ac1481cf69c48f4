import Coherence
import CoherenceMapping
import Foundation
import Testing

/// A manager whose container executes actions.
@Suite("A manager over a Connect")
struct ConnectManagerTests {
  struct Fruit: Codable, Sendable, Equatable {
    let id: Int
    var name: String
  }

  struct MergeFruits: EntityAction {
    typealias ManagedObjectType = ManagedObject
    let fruits: [Fruit]
    let entity: EntityDescription

    static func entity(of action: MergeFruits, in model: ManagedObjectModel) -> EntityDescription? { action.entity }

    func execute(context: ActionContext) throws { try context.merge(records: fruits, for: entity) }
  }

  private let fruits = Mapping<Fruit>("Fruit", uid: \.id) {
    Field("id", \.id)
    Field("name", \.name)
  }
}
