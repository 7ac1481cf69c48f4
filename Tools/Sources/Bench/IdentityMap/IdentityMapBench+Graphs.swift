import CBench
import CoherenceIdentityMap

extension IdentityMapBench {
  func memory() -> Measure {
    let ours = "Coherence, without the payload"
    return Measure(
      name: "identity-map-memory", title: "Memory of a retained entity", unit: .bytes, items: count, item: "entity",
      sides: [
        Side(name: "Swift structure", role: .raw) {
          Sample(amount: Double(count * MemoryLayout<Track>.stride))
        },
        Side(name: ours, role: .ours) {
          _ = filledStore()
          let before = benchAllocatedBytes()
          // With the observers that retain the entities, and the array of them.
          let (store, kept) = filledStore()
          let held = benchAllocatedBytes() - before
          return withExtendedLifetime((store, kept)) {
            Sample(amount: Double(held) - Double(count * MemoryLayout<Track>.stride))
          }
        },
      ], goals: [.each(of: ours, atMost: 160)])
  }

  /// Makes layers of two parts. Each part contains both parts of the next layer.
  func diamond() -> Measure {
    linear(
      "identity-map-diamond", "Diamonds of 20 layers: update of the lowest and read of the highest", 20,
      make: { store, layers in
        let leaf = Part(id: 0, name: "leaf", parts: [])
        var kept = [store.store(entity: leaf)]
        for layer in 1...layers {
          // The nested parts only need their identifiers, because the store already has their values.
          let below = layer == 1 ? [leaf] : [2 * layer - 4, 2 * layer - 3].map { known($0 + 1, in: store) }
          kept += [2 * layer - 1, 2 * layer].map { store.store(entity: Part(id: $0, name: "part", parts: below)) }
        }
        return kept
      }, bottom: { _ in 0 }, top: { 2 * $0 })
  }

  private func known(_ id: Int, in store: EntityStore) -> Part {
    store.find(Part.self, id: id)?.value ?? Part(id: id, name: "", parts: [])
  }

  /// Makes parts that form a cycle.
  func cycle() -> Measure {
    linear(
      "identity-map-cycle", "A ring of 1,000: store, update of one and read of another", 1000,
      make: { store, length in
        var part = Part(id: 0, name: "part", parts: [])
        for id in (0..<length).reversed() { part = Part(id: id, name: "part", parts: [part]) }
        return [store.store(entity: part)]
      }, bottom: { $0 - 1 }, top: { _ in 0 })
  }

  private func linear(
    _ name: String, _ title: String, _ size: Int,
    make: @escaping (EntityStore, Int) -> [EntityObserver<Part>], bottom: @escaping (Int) -> Int,
    top: @escaping (Int) -> Int
  ) -> Measure {
    let (whole, half) = ("Coherence, \(size)", "Coherence, \(size / 2)")
    func side(_ name: String, _ size: Int) -> Side {
      Side(name: name, role: .ours) {
        let store = EntityStore(delivery: .immediate)
        let kept = make(store, size)
        return Stopwatch.sample {
          for round in 0..<20 {
            store.update(Part.self, id: bottom(size)) { $0.name = "\(round)" }
            _ = store.find(Part.self, id: top(size))?.value.name
          }
          return (0, kept)
        }
      }
    }
    return Measure(
      name: name, title: title, items: 20, item: "update", sides: [side(whole, size), side(half, size / 2)],
      goals: [.between(whole, and: half, atMost: 2.6)])
  }
}
