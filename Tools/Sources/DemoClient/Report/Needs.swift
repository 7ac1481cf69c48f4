import Coherence
import Foundation

/// The direct and indirect dependencies of a package. Loads one level after the other, with one fetch for each level.
package struct Needs: Sendable, Equatable {
  package let name: String
  /// The sorted names of the needed packages, by their distance from the package.
  package let levels: [[String]]

  package var count: Int { levels.joined().count }

  /// - Returns: `nil` for an unknown package.
  package init?(of name: String, in context: ManagedObjectContext) throws {
    guard let package = try context.fetch(FetchRequest(Package.self).filter { $0.name == name }).first else {
      return nil
    }
    var seen: Set<ManagedObjectID> = [package.objectID]
    var frontier = [package.objectID]
    var levels: [[String]] = []
    while !frontier.isEmpty {
      let sources = frontier
      let request = FetchRequest(Package.self).filter { $0.dependents.any { $0.isIn(sources) } }.sort(\.name)
      let found = try context.fetch(request).filter { seen.insert($0.objectID).inserted }
      if !found.isEmpty { levels.append(found.map(\.name)) }
      frontier = found.map(\.objectID)
    }
    self.name = name
    self.levels = levels
  }
}
