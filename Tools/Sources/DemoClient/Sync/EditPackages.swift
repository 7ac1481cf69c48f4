import Coherence
import DemoService
import Foundation

/// Edits some packages at the service, on behalf of another client.
struct EditPackages: AsyncGenericAction {
  let service: ServiceClient
  let count: Int

  /// - Returns: The names of the edited packages, sorted.
  func execute() async throws -> [String] {
    let total = try await service.page(1, size: 1).content.total
    let mark = Date.now.ISO8601Format(.iso8601(timeZone: .gmt, includingFractionalSeconds: true))
    var names: [String] = []
    for position in Self.positions(count: count, total: total) {
      guard let package = try await service.page(position + 1, size: 1).content.packages.first else { continue }
      // The time makes the text differ from the edits of earlier runs, so that the edit changes the store.
      let edited = try await service.edit(package.name, PackageEdit(summary: "Edited by the demo at \(mark)"))
      names.append(edited.name)
    }
    return names.sorted()
  }

  /// Chooses packages all over the catalog, the same in every run. A larger choice contains every smaller choice.
  static func positions(count: Int, total: Int) -> [Int] {
    var seen: Set<Int> = []
    let goldenRatio = 0.618_033_988_749_895
    for step in 1... {
      guard seen.count < min(count, total) else { break }
      let fraction = (Double(step) * goldenRatio).truncatingRemainder(dividingBy: 1)
      // Near the end of a small catalog the random sequence may rarely hit the remaining packages.
      seen.insert(step > 50 * total ? (step % total) : Int(fraction * Double(total)))
    }
    return seen.sorted()
  }
}
