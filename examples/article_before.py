"""A training script with every mistake of the article, one after the other; docs/article.md walks to article_finished.py.

python examples/article_before.py train [--epochs 2] [--resume checkpoint.pt] [--picture cat.png]
python examples/article_before.py deploy
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.tensorboard import SummaryWriter

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Stripes(Dataset):
    """Noisy pictures with upright (0) or level (1) stripes, made when they are asked for."""

    def __init__(self, first, count):
        self.first, self.count = first, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.first + index)
        label = (self.first + index) % 2
        picture = 0.4 * torch.rand(3, 8, 8, generator=generator)
        if label:
            picture[:, ::2] += 0.6
        else:
            picture[:, :, ::2] += 0.6
        return picture, label


class StripeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten())
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(8 * 6 * 6, 2))

    def forward(self, pictures):
        pictures = pictures - torch.full(pictures.shape, 0.5)
        return self.head(self.features(pictures))


def train_one_epoch(model, loader, criterion, optimizer):
    total = 0.0
    for pictures, labels in loader:
        pictures = pictures.cuda()
        labels = labels.to(device)
        loss = criterion(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
    return total / len(loader)


def validate(model, loader, criterion):
    total = 0.0
    with torch.no_grad():
        for pictures, labels in loader:
            pictures, labels = pictures.to(device), labels.to(device)
            total += criterion(model(pictures), labels).item() * len(labels)
    return total / len(loader.dataset)


def accuracy(model, loader):
    model.eval()
    hits = 0
    for pictures, labels in loader:
        hits += (model(pictures.to(device)).argmax(1).cpu() == labels).sum().item()
    return hits / len(loader.dataset)


def train(args):
    train_loader = DataLoader(Stripes(0, 96), batch_size=16, shuffle=True)
    val_loader = DataLoader(Stripes(96, 48), batch_size=16, pin_memory=True)
    model = StripeNet()
    start = 0
    if args.resume:
        saved = torch.load(args.resume)
        model.load_state_dict(saved["model"])
        start = saved["epoch"]
    model = nn.DataParallel(model).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    writer = SummaryWriter("events")
    if args.picture:
        import cv2

        writer.add_image("picture", cv2.imread(args.picture), 0)

    for epoch in range(start, args.epochs):
        model.train()
        train_loss = train_one_epoch(model, train_loader, criterion, optimizer)
        val_loss = validate(model, val_loader, criterion)
        writer.add_scalar("loss", train_loss, epoch)
        writer.add_scalar("loss", val_loss, epoch)
        writer.add_scalars(
            "accuracy", {"train": accuracy(model, train_loader), "val": accuracy(model, val_loader)}, epoch
        )
        torch.save({"model": model.state_dict(), "epoch": epoch + 1, "config": args}, "checkpoint.pt")
    torch.save(model, "model.pt")


def deploy():
    model = StripeNet()
    model.load_state_dict(torch.load("checkpoint.pt")["model"])
    torch.jit.trace(model, torch.rand(1, 3, 8, 8)).save("deployed.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=["train", "deploy"])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--resume")
    parser.add_argument("--picture")
    args = parser.parse_args()
    if args.task == "train":
        train(args)
    else:
        deploy()
